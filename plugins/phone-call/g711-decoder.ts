const BIAS = 0x84;

function fromMuLaw(code: number): number {
  const bits = ~code & 0xff;
  const magnitude = (((bits & 0x0f) << 3) + BIAS) << ((bits >> 4) & 7);
  return (bits & 0x80 ? -1 : 1) * (magnitude - BIAS);
}

function fromALaw(code: number): number {
  const bits = code ^ 0x55;
  const exponent = (bits >> 4) & 7;
  const mantissa = (bits & 0x0f) * 16 + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 0x100) << (exponent - 1);
  return bits & 0x80 ? magnitude : -magnitude;
}

const TABLES = {
  0: Int16Array.from({ length: 256 }, (_, code) => fromMuLaw(code)),
  8: Int16Array.from({ length: 256 }, (_, code) => fromALaw(code)),
} as const;

/** Decodes G.711 by RTP payload type; null for other types. @source ITU-T G.711, RFC 3551 table 4 */
export function decodeG711(type: number, payload: Uint8Array): Int16Array | null {
  const table = type === 0 || type === 8 ? TABLES[type] : null;
  return table && Int16Array.from(payload, (code) => table[code] ?? 0);
}
