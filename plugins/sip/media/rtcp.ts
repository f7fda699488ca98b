import { sentence } from "../sentences.ts";
/** Reception report of one stream. @source RFC 3550 §6.4.1 */
export interface ReceptionReport {
  ssrc: number;
  /** Share of packets lost since the previous report, in 1/256. */
  fractionLost: number;
  /** Packets lost in total; negative with duplicates. */
  lost: number;
  /** Extended highest sequence number received. */
  highestSequence: number;
  /** Interarrival jitter in RTP clock units of 1/8000 s. */
  jitter: number;
}

const SENDER_REPORT = 200;
const RECEIVER_REPORT = 201;
const BLOCK_BYTES = 24;
/** All packets of the interval were lost. */
const ALL_LOST = 255;
const CLOCK_PER_MS = 8;

/** Parses the reports of a compound packet, in order; none if invalid. */
export function parseReceptionReports(datagram: Buffer): ReceptionReport[] {
  const reports: ReceptionReport[] = [];
  for (let at = 0; at + 8 <= datagram.length; ) {
    const head = datagram.readUInt8(at);
    const type = datagram.readUInt8(at + 1);
    const end = at + (datagram.readUInt16BE(at + 2) + 1) * 4;
    if (head >> 6 !== 2 || end > datagram.length) return [];
    const skip = type === SENDER_REPORT ? 28 : type === RECEIVER_REPORT ? 8 : null;
    for (let n = 0; skip !== null && n < (head & 31); n++) {
      const block = at + skip + n * BLOCK_BYTES;
      if (block + BLOCK_BYTES > end) return [];
      reports.push({
        ssrc: datagram.readUInt32BE(block),
        fractionLost: datagram.readUInt8(block + 4),
        lost: datagram.readIntBE(block + 5, 3),
        highestSequence: datagram.readUInt32BE(block + 8),
        jitter: datagram.readUInt32BE(block + 12),
      });
    }
    at = end;
  }
  return reports;
}

/** The latest report that proves reception of the stream; null if none does. */
export function findProofOfReception(reports: readonly ReceptionReport[], ssrc: number): ReceptionReport | null {
  const found = reports.findLast((report) => report.ssrc === ssrc);
  return found && found.highestSequence > 0 && found.fractionLost < ALL_LOST ? found : null;
}

/** Describes a report for the ledger. */
export function formatReceptionReport({ lost, jitter }: ReceptionReport): string {
  return sentence("report", { lost: String(Math.max(0, lost)), jitter: String(Math.round(jitter / CLOCK_PER_MS)) });
}
