import type { Evaluation } from './fraud';
import type { EvaluationAnswer } from './fraud.schemas';

/** An evaluation as callers see it (contract 10). What waits is to be treated as a payment for review. */
export function presentEvaluation(evaluation: Evaluation): EvaluationAnswer {
  if (evaluation.status === 'QUEUED') {
    return { id: evaluation.id, status: 'QUEUED', score: null, decision: 'REVIEW', reasons: [] };
  }
  const { id, status, score, decision, reasons } = evaluation;
  return {
    id,
    status,
    score,
    decision,
    reasons: reasons.map(({ rule, points, text, facts }) => ({ rule, points, text, facts: { ...facts } })),
  };
}
