import { concatenationHeader, type SmsSegment, segmentText } from "./sms-segments.ts";

/** Encoding of long texts. */
export type LongMessageMode = "joined" | "numbered" | "whole";

/** Options of segmentation. */
export interface SegmentationOptions {
  mostParts: number;
  longTexts: LongMessageMode;
  /** Reference number of all segments of this text. */
  reference: number;
}

/**
 * PDU members of the submissions of a text: segments with a user data header (`joined`), segments with SMPP's sar_*
 * parameters (`numbered`), or one submission with the whole text (`whole`), of the same maximum length.
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
