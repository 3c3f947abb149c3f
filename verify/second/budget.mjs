// How much one certificate may take, so that a hostile one ends, too. A part of the second checker,
// which was written from the page docs/reference/certificate.md alone.

const MOST_STEPS = 100_000_000;
let left = MOST_STEPS;

export class TooLarge extends Error {}

/** Begins another certificate. */
export function restart() {
  left = MOST_STEPS;
}

/** Counts steps of up to a microsecond. */
export function spend(steps) {
  left -= steps;
  if (left < 0) throw new TooLarge('too much to compute');
}

export const spent = () => MOST_STEPS - left;
