import smpp from "smpp";

/** One short message. */
export interface SmsSegment {
  /** data_coding of SMPP: 0 for the GSM alphabet, 8 for UCS-2. */
  coding: 0 | 8;
  octets: Buffer;
}

const GSM = 0;
const UCS2 = 8;
/** Capacity of a single message: 160 characters of the GSM alphabet or 140 octets. @source 3GPP TS 23.040 §9.2.3.16 */
const SINGLE_CAPACITY = { [GSM]: 160, [UCS2]: 140 } as const;
/** Capacity of a segment beside its header. @source 3GPP TS 23.040 §9.2.3.24.1 */
const SEGMENT_CAPACITY = { [GSM]: 153, [UCS2]: 134 } as const;
const ESCAPE = 0x1b;
const ELLIPSIS = "…";

/** Encoded segments of a text. */
interface EncodedSegments {
  coding: 0 | 8;
  pieces: Buffer[];
}

/** Splits a text into at most `max` messages without splitting characters; truncated text ends in `…`. */
export function segmentText(text: string, max: number): SmsSegment[] {
  const whole = encodeSegments(text);
  const { coding, pieces } = whole.pieces.length <= max ? whole : segmentShortened(text, max);
  return pieces.map((octets) => ({ coding, octets }));
}

/** Longest prefix that fits with its ellipsis; the GSM alphabet has no ellipsis, so three dots are used. */
function segmentShortened(text: string, max: number): EncodedSegments {
  const points = [...text];
  let [fits, tooMany] = [0, points.length];
  const attempt = (count: number): EncodedSegments => {
    const prefix = points.slice(0, count).join("").trimEnd();
    return encodeSegments(prefix + (smpp.encodings.ASCII.match(prefix) ? "..." : ELLIPSIS));
  };
  while (tooMany - fits > 1) {
    const middle = (fits + tooMany) >> 1;
    if (attempt(middle).pieces.length <= max) fits = middle;
    else tooMany = middle;
  }
  return attempt(fits);
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

/** End of a segment: keeps an escape with its character, and surrogate pairs together. */
function segmentEnd(octets: Buffer, from: number, coding: 0 | 8): number {
  const to = Math.min(octets.length, from + SEGMENT_CAPACITY[coding]);
  if (to === octets.length) return to;
  if (coding === GSM) return octets[to - 1] === ESCAPE ? to - 1 : to;
  const last = octets.readUInt16BE(to - 2);
  return last >= 0xd800 && last <= 0xdbff ? to - 2 : to;
}

/**
 * User data header of concatenated messages; `reference` is the same for all segments.
 * @source 3GPP TS 23.040 §9.2.3.24.1
 */
export function concatenationHeader(reference: number, count: number, number: number): Buffer {
  return Buffer.from([5, 0, 3, reference & 0xff, count, number]);
}
