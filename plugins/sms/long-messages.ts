import { concatenationHeader, type SmsSegment, segmentText } from "./sms-segments.ts";

/** How a provider takes texts that one message does not hold. */
export type LongMessageMode = "joined" | "numbered" | "whole";

/** What a text is cut by. */
export interface SegmentationOptions {
  mostParts: number;
  longTexts: LongMessageMode;
  /** Of all parts of this text. */
  reference: number;
}

/**
 * The members of the submissions that carry a text: parts with a header of their own (`joined`), parts with SMPP's numbers
 * beside them (`numbered`), or one submission that holds all of it (`whole`), cut to as many characters.
 * @source SMPP 3.4 §5.3.2.22 to 24 (sar_msg_ref_num …), §5.3.2.32 (message_payload); 3GPP TS 23.040 §9.2.3.24.1
 */
export function submissionsFor(
  text: string,
  { mostParts, longTexts, reference }: SegmentationOptions,
): Record<string, unknown>[] {
  const parts = segmentText(text, mostParts);
  const [first] = parts;
  if (first && parts.length === 1) return [{ data_coding: first.coding, short_message: first.octets }];
  if (first && longTexts === "whole") {
    const octets = Buffer.concat(parts.map((part) => part.octets));
    return [{ data_coding: first.coding, short_message: "", message_payload: octets }];
  }
  return parts.map((part, at) => ({
    data_coding: part.coding,
    ...(longTexts === "numbered"
      ? sarSubmission(part, reference, parts.length, at + 1)
      : udhSubmission(part, reference, parts.length, at + 1)),
  }));
}

function udhSubmission(
  { octets }: SmsSegment,
  reference: number,
  count: number,
  number: number,
): Record<string, unknown> {
  return { short_message: { udh: concatenationHeader(reference, count, number), message: octets } };
}

function sarSubmission(
  { octets }: SmsSegment,
  reference: number,
  count: number,
  number: number,
): Record<string, unknown> {
  const numbers = { sar_msg_ref_num: reference, sar_total_segments: count, sar_segment_seqnum: number };
  return { short_message: octets, ...numbers };
}
