import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { type Lane, laneTable } from '../../../config/lanes';
import { type Answer, expectProblem, eventually } from '../../support/http';
import { BrownoutServer } from './brownout-server';

let server: BrownoutServer;
let admin: Client;

beforeAll(async () => {
  server = await BrownoutServer.start('own');
  admin = new Client({ connectionString: server.database.adminUrl });
  await admin.connect();
});

afterAll(async () => {
  await admin.end();
  await server.stop();
});

/** Ends the lane's connections that wait for a lock, in the middle of a statement, as the death of a server would. */
async function cutBusyConnections(lane: Lane): Promise<void> {
  const { role } = laneTable[lane].datasource;
  await eventually(`a statement of ${lane} waits`, async () => {
    const { rowCount } = await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE usename = $1 AND datname = current_database() AND wait_event_type = 'Lock'`,
      [role],
    );
    return rowCount !== null && rowCount > 0;
  });
}

interface CutLane {
  readonly lane: Lane;
  /** What the first statement of a request needs. */
  readonly table: string;
  readonly ask: (idempotencyKey: string) => Promise<Answer>;
  readonly expectAnswer: (answer: Answer) => void;
  readonly done: number;
}

const lanes: readonly CutLane[] = [
  {
    lane: 'fraud',
    table: 'fraud.cards',
    ask: (key) => server.evaluate(key),
    expectAnswer: (answer) => expectProblem(answer, 503, 'ERR_DATABASE_UNAVAILABLE'),
    done: 200,
  },
  {
    lane: 'tax',
    table: 'tax.quote_claims',
    ask: (key) => server.quote(key),
    expectAnswer: (answer) => {
      expectProblem(answer, 503, 'ERR_DATABASE_UNAVAILABLE');
      expect(answer.body['compensation']).toMatchObject({ source: 'CACHED_COMPENSATION' });
    },
    done: 200,
  },
];

describe.each(lanes)(
  'a connection of the $lane lane that is lost in a statement',
  ({ lane, table, ask, expectAnswer, done }) => {
    it('is answered 503 with Retry-After, alarms nobody, and the same key is done afterwards', async () => {
      const key = randomUUID();
      await admin.query('BEGIN');
      await admin.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      const asked = ask(key);
      await cutBusyConnections(lane);
      const answer = await asked;
      await admin.query('ROLLBACK');
      expectAnswer(answer);
      expect(await server.metric('alerts_total', { alert: 'ALERT_UNEXPECTED_ERROR' })).toBe(0);
      expect((await ask(key)).status).toBe(done);
    });
  },
);

it('a card in the same place is tried again, and nobody notices', async () => {
  await admin.query('BEGIN');
  await admin.query('LOCK TABLE card_auth.authorizations IN ACCESS EXCLUSIVE MODE');
  const asked = server.authorize();
  await cutBusyConnections('authorization');
  await admin.query('ROLLBACK');
  expect((await asked).status).toBe(201);
});
