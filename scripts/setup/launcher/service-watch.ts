import { say } from '../report';
import { messageOf } from '../setup-error';

export interface WatchedService {
  name: string;
  running(): boolean;
  start(): Promise<void>;
}

const LOOK_MS = 1_000;
/** A service that ends again and again has a reason that no further start takes away. */
const RESTARTS_MAX = 5;

/** Starts a service again that somebody killed: the application rides over the gap, as it does with a real server. */
export class ServiceWatch {
  private readonly timer: NodeJS.Timeout;
  private restarts = 0;
  private busy: Promise<void> = Promise.resolve();
  private looking = false;

  constructor(private readonly services: readonly WatchedService[]) {
    this.timer = setInterval(() => this.onTick(), LOOK_MS);
  }

  /** Ends the watch, and waits for a start that is under way: it would outlive the stop. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.busy;
  }

  private onTick(): void {
    if (this.looking) return;
    this.looking = true;
    this.busy = this.look().finally(() => (this.looking = false));
  }

  private async look(): Promise<void> {
    for (const service of this.services.filter((each) => !each.running())) {
      if (this.restarts === RESTARTS_MAX) {
        clearInterval(this.timer);
        say(`${service.name} has ended once more and is not started again; restart payment-core`);
        return;
      }
      this.restarts += 1;
      say(`${service.name} has ended unexpectedly; starting it again`);
      try {
        await service.start();
      } catch (error) {
        say(messageOf(error));
      }
    }
  }
}
