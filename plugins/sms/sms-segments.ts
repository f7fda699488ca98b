import smpp from "smpp";

/** One short message on the wire. */
export interface SmsSegment {
  /** SMPP's data_coding: 0 for the GSM alphabet, 8 for UCS-2. */
  coding: 0 | 8;
  octets: Buffer;
}

const GSM = 0;
const UCS2 = 8;
/** What fits one message: 160 characters of the GSM alphabet or 140 octets. @source 3GPP TS 23.040 §9.2.3.16 */
const SINGLE_CAPACITY = { [GSM]: 160, [UCS2]: 140 } as const;
/** What fits beside the header that joins parts. @source 3GPP TS 23.040 §9.2.3.24.1 */
const SEGMENT_CAPACITY = { [GSM]: 153, [UCS2]: 134 } as const;
const ESCAPE = 0x1b;
const ELLIPSIS = "…";

/** The text of parts that were cut off shorter than what was to be said. */
interface EncodedSegments {
  coding: 0 | 8;
  pieces: Buffer[];
}

/** Cuts a text into the messages that carry it, at most `most`; characters are never torn, and what is cut off ends in `…`. */
export function segmentText(text: string, most: number): SmsSegment[] {
  const whole = encodeSegments(text);
  const { coding, pieces } = whole.pieces.length <= most ? whole : segmentShortened(text, most);
  return pieces.map((octets) => ({ coding, octets }));
}

/** The longest beginning that fits with its ellipsis; that sign is not in the GSM alphabet, so three dots stand there. */
function segmentShortened(text: string, most: number): EncodedSegments {
  const points = [...text];
  let [fits, tooMuch] = [0, points.length];
  const tried = (count: number): EncodedSegments => {
    const begun = points.slice(0, count).join("").trimEnd();
    return encodeSegments(begun + (smpp.encodings.ASCII.match(begun) ? "..." : ELLIPSIS));
  };
  while (tooMuch - fits > 1) {
    const middle = (fits + tooMuch) >> 1;
    if (tried(middle).pieces.length <= most) fits = middle;
    else tooMuch = middle;
  }
  return tried(fits);
}

function encodeSegments(text: string): EncodedSegments {
  const coding = smpp.encodings.ASCII.match(text) ? GSM : UCS2;
  const octets = smpp.encodings[coding === GSM ? "ASCII" : "UCS2"].encode(text);
  if (octets.length <= SINGLE_CAPACITY[coding]) return { coding, pieces: [octets] };
  const pieces: Buffer[] = [];
  for (let from = 0; from < octets.length; ) {
    const to = segmentEnd(octets, from, coding);
    pieces.push(octets.subarray(from, to));
    from = to;
  }
  return { coding, pieces };
}

/** Where a piece ends: an escape stays with its sign, and the two halves of a character beyond 16 bits together. */
function segmentEnd(octets: Buffer, from: number, coding: 0 | 8): number {
  const to = Math.min(octets.length, from + SEGMENT_CAPACITY[coding]);
  if (to === octets.length) return to;
  if (coding === GSM) return octets[to - 1] === ESCAPE ? to - 1 : to;
  const last = octets.readUInt16BE(to - 2);
  return last >= 0xd800 && last <= 0xdbff ? to - 2 : to;
}

/** The header that joins parts to one message; `reference` is the same for all of them. @source 3GPP TS 23.040 §9.2.3.24.1 */
export function concatenationHeader(reference: number, count: number, number: number): Buffer {
  return Buffer.from([5, 0, 3, reference & 0xff, count, number]);
}
