import type { Settings } from '../../../config/environment';
import { connectionsMaxOf } from '../lane-places';
import { identityOf, isAlive, signalProcess, waitForExit } from '../os/processes';
import { withDatabase } from '../postgres-client';
import { say, step } from '../report';
import { readScriptEnvironment, type ScriptEnvironment } from '../script-environment';
import { ensureSecrets, type SecretsWithKeys } from '../secrets';
import { describeFault, messageOf } from '../setup-error';
import { PAYMENT_DATABASE, setUpDatabase } from '../setup-database';
import { Application, type ApplicationExit } from './application';
import { applicationEnvironment } from './application-environment';
import { banner } from './banner';
import { EmbeddedServiceGroup, type EmbeddedServices, redisExecutableFor } from './embedded-services';
import { applicationSettings, assertPortFree, weakPassword } from './preflight';
import { becomeLauncher, readRunState, type RunState, writeRunState } from './run-state';
import { StopRequest, StopRequested } from './stop-request';
import { simulatorPort, TaxSimulatorProcess } from './tax-simulator';
import { type Listener, singleProcess, type Topology } from './topology';
import type { Watcher } from './watch-sources';

/** Contract 13: the application drains for up to 25 s; a little more, and it is not going to end by itself. */
const STOP_GRACE_MS = 30_000;

export interface LaunchOptions {
  /** Present in development: tells when the sources have been compiled anew. */
  watch?: () => Watcher;
  /** Which application is spawned; one process if left out. */
  topology?: Topology;
}

/** Starts everything, serves until somebody asks to stop, stops everything. @returns the exit code. */
export async function launch(options: LaunchOptions = {}): Promise<number> {
  // A terminal that is gone must not end a launcher that still has services to stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const stop = new StopRequest();
  try {
    const environment = readScriptEnvironment();
    const settings = applicationSettings(environment);
    const weak = weakPassword(environment);
    if (weak !== null) say(weak);
    const release = becomeLauncher(environment.dataFolder);
    try {
      return await new Launch(environment, settings, stop, options).run();
    } finally {
      release();
    }
  } catch (error) {
    if (error instanceof StopRequested) return 0;
    say(describeFault(error));
    return 1;
  }
}

class Launch {
  private readonly startedAt = performance.now();
  private services: EmbeddedServiceGroup | null = null;
  private application: Application | null = null;
  private simulator: TaxSimulatorProcess | null = null;
  private readonly state: RunState;
  private readonly previous: RunState | null;
  private readonly topology: Topology;

  constructor(
    private readonly environment: ScriptEnvironment,
    private readonly settings: Settings,
    private readonly stop: StopRequest,
    private readonly options: LaunchOptions,
  ) {
    const launcher = identityOf(process.pid);
    if (launcher === null) throw new Error('This process does not find itself');
    this.topology = options.topology ?? singleProcess;
    this.previous = readRunState(environment.dataFolder);
    const { postgresPort = null, redisPort = null } = this.previous ?? {};
    this.state = { launcher, application: null, url: null, postgresPort, redisPort };
  }

  async run(): Promise<number> {
    let code = 1;
    try {
      code = await this.serve();
    } finally {
      code = await this.stopEverything(code);
    }
    return code;
  }

  private async serve(): Promise<number> {
    await this.endOrphan();
    const listeners = this.topology.listeners(this.environment, this.settings);
    for (const listener of listeners) await assertPortFree(listener, this.topology.command);
    const redisExecutable = await redisExecutableFor(this.environment);
    const secrets = await ensureSecrets(this.environment.dataFolder);
    this.stop.check();
    const connectionsMax = connectionsMaxOf(this.settings);
    const { environment, previous } = this;
    this.services = EmbeddedServiceGroup.prepare({ environment, secrets, connectionsMax, previous });
    const running = (await this.services?.start(redisExecutable)) ?? { postgres: null, redis: null };
    this.note({ postgresPort: running.postgres?.port ?? null, redisPort: running.redis?.port ?? null });
    this.stop.check();
    const serverUrl = await this.database(running);
    this.stop.check();
    this.services?.watch(running, redisExecutable);
    const taxProviderUrl = await this.taxProvider(listeners);
    const redisUrl = running.redis?.url ?? null;
    const variables = applicationEnvironment(environment, secrets, serverUrl, redisUrl, taxProviderUrl);
    return this.options.watch === undefined
      ? this.serveOnce(variables, secrets)
      : this.serveAndWatch(variables, secrets, this.options.watch());
  }

  /** @returns the simulator's URL; null where a provider is given, or nobody would call one. */
  private async taxProvider(listeners: readonly Listener[]): Promise<string | null> {
    const { environment } = this;
    if (!environment.taxProviderEmbedded || !listeners.some(({ role }) => role === 'all' || role === 'tax'))
      return null;
    this.simulator = await TaxSimulatorProcess.start(await simulatorPort(environment.variables));
    return this.simulator.url;
  }

  private async serveOnce(variables: NodeJS.ProcessEnv, secrets: SecretsWithKeys): Promise<number> {
    const application = this.startApplication(variables);
    const url = await step('starting the application', () =>
      Promise.race([application.ready, application.exit, this.stop.requested]),
    );
    if (typeof url === 'string') await this.announce(url, secrets);
    const exit = await Promise.race([application.exit, this.stop.requested]);
    return this.stop.isRequested ? 0 : diedWith(exit);
  }

  /** A compiled change replaces the application; one that dies waits for the next change. */
  private async serveAndWatch(
    variables: NodeJS.ProcessEnv,
    secrets: SecretsWithKeys,
    watcher: Watcher,
  ): Promise<number> {
    try {
      for (let announced = false; !this.stop.isRequested;) {
        const changed = watcher.nextChange();
        const application = this.startApplication(variables);
        const url = await Promise.race([application.ready, application.exit, changed, this.stop.requested]);
        if (typeof url === 'string' && !announced) await this.announce(url, secrets);
        announced ||= typeof url === 'string';
        const exit = await Promise.race([application.exit, changed, this.stop.requested]);
        if (exit !== undefined) say(`the application ended (${describeExit(exit)}); waiting for a change`);
        await Promise.race([changed, this.stop.requested]);
        if (!this.stop.isRequested) await application.stop(STOP_GRACE_MS, this.stop.forced);
      }
      return 0;
    } finally {
      watcher.close();
    }
  }

  private startApplication(variables: NodeJS.ProcessEnv): Application {
    this.application = Application.start(this.topology.main, variables);
    this.note({ application: this.application.identity });
    return this.application;
  }

  private async announce(url: string, secrets: SecretsWithKeys): Promise<void> {
    this.note({ url });
    const startedInMs = performance.now() - this.startedAt;
    const { environment, settings } = this;
    const listeners = this.topology.listeners(environment, settings);
    const servicesFolder = this.services?.folder ?? null;
    const simulatorUrl = this.simulator?.url ?? null;
    const input = { environment, settings, secrets, url, listeners, simulatorUrl, servicesFolder, startedInMs };
    process.stdout.write(`${await banner(input)}\n`);
  }

  /** An application whose launcher was killed drains by itself; it still holds the port and its connections. */
  private async endOrphan(): Promise<void> {
    const orphan = this.previous?.application ?? null;
    if (orphan === null || !isAlive(orphan)) return;
    await step(`waiting for the application of an earlier start (process ${orphan.pid}) to end`, async () => {
      signalProcess(orphan, 'SIGTERM');
      if (await waitForExit(orphan, STOP_GRACE_MS)) return;
      signalProcess(orphan, 'SIGKILL');
      await waitForExit(orphan, 5_000);
    });
  }

  /** @returns the URL from which the lanes' logins are derived; null where each is given. */
  private async database(running: EmbeddedServices): Promise<string | null> {
    const { databaseUrl, migrationDatabaseUrl, laneDatabaseUrls: laneUrls, demoData } = this.environment;
    if (running.postgres !== null) {
      const adminUrl = withDatabase(running.postgres.serverUrl, PAYMENT_DATABASE);
      const setup = { adminUrl, serverUrl: adminUrl, laneUrls, provision: true, dedicatedServer: true, demoData };
      await setUpDatabase(setup, this.settings);
      return adminUrl;
    }
    const adminUrl = migrationDatabaseUrl ?? databaseUrl;
    if (adminUrl !== null) {
      const serverUrl = databaseUrl ?? adminUrl;
      // Where only the lanes' own logins are given, somebody else looks after roles.
      const provision = databaseUrl !== null;
      await setUpDatabase(
        { adminUrl, serverUrl, laneUrls, provision, dedicatedServer: false, demoData },
        this.settings,
      );
    }
    return databaseUrl;
  }

  private note(change: Partial<RunState>): void {
    Object.assign(this.state, change);
    writeRunState(this.environment.dataFolder, this.state);
  }

  /** The application drains first, since it still needs both services. */
  private async stopEverything(code: number): Promise<number> {
    let result = code;
    const clean = (await this.application?.stop(STOP_GRACE_MS, this.stop.forced)) ?? true;
    if (!clean && result === 0) {
      say('the application did not end cleanly');
      result = 1;
    }
    this.note({ application: null, url: null });
    await this.simulator?.stop();
    try {
      await this.services?.stop();
    } catch (error) {
      say(messageOf(error));
      result ||= 1;
    }
    return result;
  }
}

function describeExit({ code, signal }: ApplicationExit): string {
  return signal === null ? `exit code ${code}` : signal;
}

function diedWith(exit: ApplicationExit | void): number {
  if (exit === undefined) return 0;
  say(`the application ended by itself (${describeExit(exit)}); stopping what it needed`);
  return exit.code ?? 1;
}
