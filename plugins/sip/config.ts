import { boolean, integer, option, secret, text } from "#plugin-api";

/** Configuration of the sip plugin. */
export default {
  port: integer("SIP port for UDP and TCP; 0 lets the system choose.", { min: 0, max: 65_535, default: 5_060 }),
  tlsPort: integer("SIP port for TLS, opened if a certificate is set.", { min: 0, max: 65_535, default: 5_061 }),
  tlsCertificate: text("Server certificate with its chain in PEM, which enables TLS.", { max: 65_536 }),
  tlsKey: secret("Private key of the server certificate in PEM.", { max: 16_384 }),
  certificateAuthority: text("CA certificate of servers and devices in PEM. Default: the system's CAs.", {
    max: 65_536,
  }),
  address: text(
    "Own IPv4 address that devices can reach, or the name of the network interface that has it, such as the one of a " +
      "voice VLAN. Default: from the system's routes.",
    { max: 15 },
  ),
  firstMediaPort: integer("First RTP port.", { min: 1_024, max: 65_534, default: 16_384 }),
  lastMediaPort: integer("Last RTP port. Each call uses two ports.", { min: 1_025, max: 65_535, default: 20_479 }),
  callsPerSecond: integer("Maximum number of calls started per second.", { min: 1, max: 1_000, default: 200 }),
  callerName: text("Caller name on displays for messages without text.", { min: 1, max: 60, default: "Carillon" }),
  srtp: option(
    "Audio encryption (SRTP) in calls over TLS: off, if the device supports it, or required.",
    ["off", "offer", "require"],
    { default: "offer" },
  ),
  trustedAddresses: text(
    "Call managers and trunks whose calls to the appliance need no password: IPv4 addresses or networks, such as `10.0.0.4, 10.2.0.0/16`. Their caller numbers are believed.",
    { max: 4_096 },
  ),
  incomingCalls: integer("Maximum number of simultaneous calls to the appliance.", { min: 0, max: 200, default: 20 }),
  silenceSeconds: integer("Time without audio after which a call to the appliance is ended.", {
    min: 5,
    max: 600,
    default: 20,
    unit: "s",
  }),
  user: text(
    "User name for devices and servers that require authentication. A registered device uses its own account.",
    { max: 128 },
  ),
  password: secret("Password of this user.", { boundTo: ["user"] }),
  realm: text("Digest realm of the registrar.", { min: 1, max: 64, without: '"', default: "carillon" }),
  digest: option(
    "Digest algorithm of registrations. Many devices support only MD5 and fail if both are offered.",
    ["MD5", "SHA-256", "both"],
    {
      default: "MD5",
    },
  ),
  digestWithoutQop: boolean(
    "Accept registrations of old devices that authenticate without qop (RFC 2069). Each challenge is then valid once.",
    { default: false },
  ),
  accounts: secret(
    "Accounts of devices that may register, one per line: `name:password` for a speaker, `phone name:password` for a phone.",
    { max: 262_144 },
  ),
};
