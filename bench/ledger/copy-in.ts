import type { Connection, PoolClient, Submittable } from 'pg';

/** What the driver does not bring: COPY … FROM STDIN of one text. */
class CopyIn implements Submittable {
  constructor(
    private readonly statement: string,
    private readonly text: string,
    private readonly settle: (error: Error | null) => void,
  ) {}

  submit(connection: Connection): void {
    connection.query(this.statement);
  }

  handleCopyInResponse(connection: { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void }): void {
    connection.sendCopyFromChunk(Buffer.from(this.text));
    connection.endCopyFrom();
  }

  handleError(error: Error): void {
    this.settle(error);
  }

  handleReadyForQuery(): void {
    this.settle(null);
  }

  handleCommandComplete(): void {}
}

export function copyIn(client: PoolClient, statement: string, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(statement, text, (error) => (error === null ? resolve() : reject(error))));
  });
}
