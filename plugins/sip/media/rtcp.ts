/** What a receiver says of one stream. @source RFC 3550 §6.4.1 */
export interface ReceptionReport {
  ssrc: number;
  /** Share of packets lost since the report before, 0..255 of 256. */
  fractionLost: number;
  /** Highest sequence number that was received, with how often it began anew. */
  highest: number;
}

const SENDER_REPORT = 200;
const RECEIVER_REPORT = 201;
const BLOCK_BYTES = 24;
/** All packets of the time were lost. */
const ALL_LOST = 255;

/** The reports in a compound packet, in order; none for anything that is no RTCP. */
export function readReports(datagram: Buffer): ReceptionReport[] {
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
        highest: datagram.readUInt32BE(block + 8),
      });
    }
    at = end;
  }
  return reports;
}

/** True when a report proves that packets of the stream arrive. */
export function provesSound(reports: readonly ReceptionReport[], ssrc: number): boolean {
  return reports.some((report) => report.ssrc === ssrc && report.highest > 0 && report.fractionLost < ALL_LOST);
}
