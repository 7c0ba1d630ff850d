const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];

/**
 * Regions that Unicode's CLDR names and ISO 3166-1 does not assign: exceptional reservations (islands, unions), user
 * assigned codes, pseudo-regions and "unknown".
 */
const NOT_ASSIGNED: ReadonlySet<string> = new Set([
  ...['AC', 'CP', 'CQ', 'DG', 'EA', 'IC', 'TA', 'EU', 'EZ', 'UN'],
  ...['QO', 'XA', 'XB', 'XK', 'ZZ'],
]);

/** The alpha-2 codes that ISO 3166-1 assigns, by the region data of Node's own ICU. */
export const COUNTRIES: ReadonlySet<string> = assignedCodes();

function assignedCodes(): Set<string> {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const codes = LETTERS.flatMap((first) => LETTERS.map((second) => first + second));
  return new Set(
    codes.filter(
      (code) =>
        names.of(code) !== undefined &&
        // A code that was withdrawn (`SU`) or stands for another (`UK`) is rewritten when its locale is.
        Intl.getCanonicalLocales(`und-${code}`)[0] === `und-${code}` &&
        !NOT_ASSIGNED.has(code),
    ),
  );
}
