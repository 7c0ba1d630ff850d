export interface VerdictInput {
  /** The worst of all targets; null where nothing was measured. */
  lagP99Ms: number | null;
  lagP99MsMax: number;
  overflow: number;
  interrupted: boolean;
  /** A drain that did not end: retries or answers were still outstanding at the hard limit. */
  undrained: boolean;
}

/** Why nothing may be concluded from a run, or null where it is sound. */
export function voidReason(input: VerdictInput): string | null {
  const reasons: string[] = [];
  if (input.interrupted) reasons.push('the run was interrupted');
  if (input.undrained) reasons.push('requests were still outstanding when the run had to end');
  if (input.lagP99Ms === null) {
    reasons.push('no request was measured');
  } else if (input.lagP99Ms > input.lagP99MsMax) {
    reasons.push(`the generator's own lag had p99 ${input.lagP99Ms} ms, allowed are ${input.lagP99MsMax} ms`);
  }
  if (input.overflow > 0) {
    reasons.push(`${input.overflow} requests were not sent because too many had no answer yet`);
  }
  return reasons.length === 0 ? null : reasons.join('; ');
}
