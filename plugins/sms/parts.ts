import smpp from "smpp";

/** One short message on the wire. */
export interface Part {
  /** SMPP's data_coding: 0 for the GSM alphabet, 8 for UCS-2. */
  coding: 0 | 8;
  octets: Buffer;
}

const GSM = 0;
const UCS2 = 8;
/** What fits one message: 160 characters of the GSM alphabet or 140 octets. @source 3GPP TS 23.040 §9.2.3.16 */
const ALONE = { [GSM]: 160, [UCS2]: 140 } as const;
/** What fits beside the header that joins parts. @source 3GPP TS 23.040 §9.2.3.24.1 */
const JOINED = { [GSM]: 153, [UCS2]: 134 } as const;
const ESCAPE = 0x1b;
const MORE = "…";

/** The text of parts that were cut off shorter than what was to be said. */
interface Cut {
  coding: 0 | 8;
  pieces: Buffer[];
}

/** Cuts a text into the messages that carry it, at most `most`; characters are never torn, and what is cut off ends in `…`. */
export function partsOf(text: string, most: number): Part[] {
  const whole = cut(text);
  const { coding, pieces } = whole.pieces.length <= most ? whole : shortened(text, most);
  return pieces.map((octets) => ({ coding, octets }));
}

/** The longest beginning that fits with its ellipsis; that sign is not in the GSM alphabet, so three dots stand there. */
function shortened(text: string, most: number): Cut {
  const points = [...text];
  let [fits, tooMuch] = [0, points.length];
  const tried = (count: number): Cut => {
    const begun = points.slice(0, count).join("").trimEnd();
    return cut(begun + (smpp.encodings.ASCII.match(begun) ? "..." : MORE));
  };
  while (tooMuch - fits > 1) {
    const middle = (fits + tooMuch) >> 1;
    if (tried(middle).pieces.length <= most) fits = middle;
    else tooMuch = middle;
  }
  return tried(fits);
}

function cut(text: string): Cut {
  const coding = smpp.encodings.ASCII.match(text) ? GSM : UCS2;
  const octets = smpp.encodings[coding === GSM ? "ASCII" : "UCS2"].encode(text);
  if (octets.length <= ALONE[coding]) return { coding, pieces: [octets] };
  const pieces: Buffer[] = [];
  for (let from = 0; from < octets.length; ) {
    const to = endOf(octets, from, coding);
    pieces.push(octets.subarray(from, to));
    from = to;
  }
  return { coding, pieces };
}

/** Where a piece ends: an escape stays with its sign, and the two halves of a character beyond 16 bits together. */
function endOf(octets: Buffer, from: number, coding: 0 | 8): number {
  const to = Math.min(octets.length, from + JOINED[coding]);
  if (to === octets.length) return to;
  if (coding === GSM) return octets[to - 1] === ESCAPE ? to - 1 : to;
  const last = octets.readUInt16BE(to - 2);
  return last >= 0xd800 && last <= 0xdbff ? to - 2 : to;
}

/** The header that joins parts to one message; `reference` is the same for all of them. @source 3GPP TS 23.040 §9.2.3.24.1 */
export function joiningHeader(reference: number, count: number, number: number): Buffer {
  return Buffer.from([5, 0, 3, reference & 0xff, count, number]);
}
