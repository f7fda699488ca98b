/** What a receiver says of one stream. @source RFC 3550 §6.4.1 */
export interface ReceptionReport {
  ssrc: number;
  /** Share of packets lost since the report before, 0..255 of 256. */
  fractionLost: number;
  /** Packets lost in all; less than none where some came twice. */
  lost: number;
  /** Highest sequence number that was received, with how often it began anew. */
  highestSequence: number;
  /** Mean deviation of their arrival, in units of the RTP clock: 1/8000 s. */
  jitter: number;
}

const SENDER_REPORT = 200;
const RECEIVER_REPORT = 201;
const BLOCK_BYTES = 24;
/** All packets of the time were lost. */
const ALL_LOST = 255;
const CLOCK_PER_MS = 8;

/** The reports in a compound packet, in order; none for anything that is no RTCP. */
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

/** What proves that packets of the stream arrive: the latest such report; null for none. */
export function findProofOfReception(reports: readonly ReceptionReport[], ssrc: number): ReceptionReport | null {
  const found = reports.findLast((report) => report.ssrc === ssrc);
  return found && found.highestSequence > 0 && found.fractionLost < ALL_LOST ? found : null;
}

/** A report in words for the ledger. */
export function formatReceptionReport({ lost, jitter }: ReceptionReport): string {
  return `the last report of the device: ${Math.max(0, lost)} packets lost, jitter ${Math.round(jitter / CLOCK_PER_MS)} ms`;
}
