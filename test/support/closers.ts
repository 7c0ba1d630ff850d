type Closer = () => Promise<void> | void;

const closers: Closer[] = [];

/** Runs at the end of the test file even if its tests fail, the last registered first. */
export function atEndOfFile(closer: Closer): void {
  closers.push(closer);
}

/** @throws AggregateError with what went wrong, after every closer has had its turn. */
export async function runClosers(): Promise<void> {
  const faults: unknown[] = [];
  for (const closer of closers.splice(0).reverse()) {
    try {
      await closer();
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw new AggregateError(faults, 'Not everything that this file opened could be closed');
}
