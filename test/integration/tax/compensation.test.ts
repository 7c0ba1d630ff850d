import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { CertificationRefused, certify } from '../../../scripts/compensation/certification';
import { compensationPaths } from '../../../scripts/compensation/places';
import { withSimulator } from '../../../scripts/compensation/with-provider';
import { type Certificate, sealCertificate } from '../../../src/lanes/tax/compensation/certificate';
import type { CompensationTableFile } from '../../../src/lanes/tax/compensation/compensation-table';
import { verifyCompensation } from '../../../src/lanes/tax/compensation/verify-compensation';

interface Files {
  readonly table: Buffer;
  readonly certificate: Buffer | null;
  readonly authority: Buffer;
  readonly jurisdictions: Buffer;
  readonly simulator: Buffer;
}
/** The files as they are committed: what is certified here is what is shipped. */
const committed: Files = {
  table: readFileSync(compensationPaths.table),
  certificate: readFileSync(compensationPaths.certificate),
  authority: readFileSync(compensationPaths.authority),
  jurisdictions: readFileSync(compensationPaths.jurisdictions),
  simulator: readFileSync(compensationPaths.simulator),
};

const certificate = JSON.parse(readFileSync(compensationPaths.certificate, 'utf8')) as Certificate;
const TODAY = certificate.certified_on;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'compensation-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** The run at pace has a test of its own, on a clock of its own. */
const asFast = () => Promise.resolve({ faults: [], perSecond: certificate.estimates_per_second });

/** Certifies the files, by a provider that answers with their rates. */
function certified(files: Files, today = TODAY) {
  const ratesPath = join(folder, 'rates.json');
  writeFileSync(ratesPath, files.simulator);
  return withSimulator(ratesPath, (provider) => certify({ ...files, provider, today, run: asFast }));
}

async function refusalOf(files: Files): Promise<string> {
  const error: unknown = await certified(files).then(
    () => 'certified',
    (refused: unknown) => refused,
  );
  return error instanceof CertificationRefused ? error.message : String(error);
}

function rejectionOf({ table, certificate: paper }: Files): string | null {
  const verification = verifyCompensation({ table, certificate: paper });
  return verification.accepted ? null : verification.rejection;
}

type Row = CompensationTableFile['rows'][number];

/** The table with other rows, as an editor would leave it. */
function withRows(files: Files, change: (rows: Row[]) => Row[]): Files {
  const file = JSON.parse(files.table.toString('utf8')) as CompensationTableFile;
  return { ...files, table: Buffer.from(JSON.stringify({ ...file, rows: change(file.rows) })) };
}

const isStateRow = (row: Row, jurisdiction: string): boolean =>
  row.jurisdiction === jurisdiction && row.postal_code === null;
const rated = (rows: Row[], jurisdiction: string, rate: string): Row[] =>
  rows.map((row) => (isStateRow(row, jurisdiction) ? { ...row, rate } : row));
const rateOf = (rows: Row[], jurisdiction: string): string =>
  rows.find((row) => isStateRow(row, jurisdiction))?.rate ?? 'none';

/** One rate of a file of rates, as text, so that all else of it stays as it was. */
function withRate(content: Buffer, country: string, region: string, rate: string): Buffer {
  const file = JSON.parse(content.toString('utf8')) as { rates: Record<string, unknown>[] };
  const rates = file.rates.map((row) =>
    row['jurisdiction'] === `${country}-${region}` || (row['country'] === country && row['region'] === region)
      ? { ...row, rate }
      : row,
  );
  return Buffer.from(JSON.stringify({ ...file, rates }));
}

interface Perturbation {
  readonly name: string;
  readonly change: (files: Files) => Files;
  /** What verification says; null where it has nothing to see: simulator and authority are certification's. */
  readonly verify: RegExp | null;
  /** What certification says; null where it would only write another certificate. */
  readonly certify: RegExp | null;
}

const OTHER_TABLE = /the certificate \S+ is of another table/;

const PERTURBATIONS: readonly Perturbation[] = [
  {
    name: 'a rate off by 0.6 %',
    change: (files) => withRows(files, (rows) => rated(rows, 'US-TX', '0.062875')),
    verify: OTHER_TABLE,
    certify: /US-TX: 0\.062875 is too far from the authority's 0\.0625/,
  },
  {
    name: 'a zero',
    change: (files) => withRows(files, (rows) => rated(rows, 'US-TX', '0')),
    verify: OTHER_TABLE,
    certify: /US-TX: 0 is too far from the authority's 0\.0625/,
  },
  {
    name: 'a missing jurisdiction',
    change: (files) => withRows(files, (rows) => rows.filter(({ jurisdiction }) => jurisdiction !== 'DE')),
    verify: OTHER_TABLE,
    certify: /DE: no row/,
  },
  {
    name: 'two swapped regions',
    change: (files) =>
      withRows(files, (rows) => {
        const [california, texas] = [rateOf(rows, 'US-CA'), rateOf(rows, 'US-TX')];
        return rated(rated(rows, 'US-CA', texas), 'US-TX', california);
      }),
    verify: OTHER_TABLE,
    certify: /US-CA: 0\.0625 is too far from the authority's 0\.0725[^]*US-TX: 0\.0725 is too far/,
  },
  {
    name: 'a missing certificate',
    change: (files) => ({ ...files, certificate: null }),
    verify: /certificate\.json is missing/,
    certify: null,
  },
  {
    name: 'a certificate of another table',
    change: (files) => {
      const { id: _id, seal_sha256: _seal, ...statement } = certificate;
      const other = sealCertificate({ ...statement, table_sha256: 'a'.repeat(64) });
      return { ...files, certificate: Buffer.from(JSON.stringify(other)) };
    },
    verify: OTHER_TABLE,
    certify: null,
  },
  {
    name: 'one flipped byte',
    change: (files) => {
      const table = Buffer.from(files.table);
      const at = table.indexOf('0.0625');
      table[at + 5] = '6'.charCodeAt(0);
      return { ...files, table };
    },
    verify: OTHER_TABLE,
    certify: /0\.0626 is too far from the authority's 0\.0625|the table has 0\.0626/,
  },
  {
    name: 'a changed simulator file',
    change: (files) => ({ ...files, simulator: withRate(files.simulator, 'US', 'TX', '0.0626') }),
    verify: null,
    certify: /US-TX: the table has 0\.0625, the provider 0\.0626/,
  },
  {
    name: 'a changed authority',
    change: (files) => ({ ...files, authority: withRate(files.authority, 'US', 'TX', '0.063') }),
    verify: null,
    certify: /US-TX: 0\.0625 is too far from the authority's 0\.063/,
  },
];

describe('the certified table, as it is committed', () => {
  it('has a certificate of its own', () => {
    expect(rejectionOf(committed)).toBeNull();
  });

  it('is certified again, with the same statement', async () => {
    const { id: _id, seal_sha256: _seal, ...statement } = certificate;
    expect(await certified(committed)).toEqual(statement);
  });

  it('has a certificate that ends before the first change of a rate that is known', () => {
    expect(certificate).toMatchObject({
      expires_at: '2027-07-01T00:00:00.000Z',
      expires_because: 'the rate of US-SD changes on 2027-07-01',
    });
  });

  it('cannot be certified on a day on which a rate of it is another', async () => {
    await expect(certified(committed, '2027-07-01')).rejects.toThrow(
      /US-SD: 0\.042 is too far from the authority's 0\.045/,
    );
    await expect(certified(committed, '2026-09-30')).rejects.toThrow(
      /US-DC: 0\.07 is too far from the authority's 0\.06/,
    );
  });
});

describe('ERR_UNTESTED_COMPENSATION_REJECTED [ADV-UC-01]', () => {
  describe.each(PERTURBATIONS)('$name', ({ change, verify, certify: refused }) => {
    const files = change(committed);

    if (verify !== null) {
      it('fails verification, which says what to do', () => {
        const rejection = rejectionOf(files);
        expect(rejection).toMatch(/^ERR_UNTESTED_COMPENSATION_REJECTED: /);
        expect(rejection).toMatch(verify);
        expect(rejection).toMatch(/`npm run compensation:certify`/);
      });
    }

    if (refused !== null) {
      it('fails certification, which says what to do', async () => {
        const refusal = await refusalOf(files);
        expect(refusal).toMatch(/^ERR_UNTESTED_COMPENSATION_REJECTED: /);
        expect(refusal).toMatch(refused);
        expect(refusal).toMatch(/`npm run compensation:certify` again/);
      });
    }
  });

  it('is said of any one bit that is flipped, in the table or in the certificate', () => {
    const paper = committed.certificate ?? Buffer.alloc(0);
    const flipped = (content: Buffer, bit: number): Buffer => {
      const copy = Buffer.from(content);
      copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return copy;
    };
    const bitOf = (content: Buffer) => fc.nat({ max: content.length * 8 - 1 });
    fc.assert(
      fc.property(
        bitOf(committed.table),
        (bit) => rejectionOf({ ...committed, table: flipped(committed.table, bit) }) !== null,
      ),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(bitOf(paper), (bit) => rejectionOf({ ...committed, certificate: flipped(paper, bit) }) !== null),
      { numRuns: 2_000 },
    );
  });
});
