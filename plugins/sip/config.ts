import { integer, option, secret, text } from "#plugin-api";

/** The configuration of SIP. */
export default {
  port: integer("Port for UDP and TCP; 0 lets the system choose.", { min: 0, max: 65_535, default: 5_060 }),
  tlsPort: integer("Port for TLS, once there is a certificate.", { min: 0, max: 65_535, default: 5_061 }),
  tlsCertificate: text("Own certificate and those above it, in PEM: then devices may connect by TLS.", { max: 65_536 }),
  tlsKey: secret("Key of the certificate, in PEM.", { max: 16_384 }),
  certificateAuthority: text(
    "Certificate in PEM of who signed those of servers and devices; the system's unless given.",
    {
      max: 65_536,
    },
  ),
  address: text("Own IPv4 address that devices reach; found by the system's routes unless given.", { max: 15 }),
  firstMediaPort: integer("Ports for sound: the first.", { min: 1_024, max: 65_534, default: 16_384 }),
  lastMediaPort: integer("Ports for sound: the last. A call takes two.", { min: 1_025, max: 65_535, default: 20_479 }),
  callsPerSecond: integer("Devices called in a second, at most.", { min: 1, max: 1_000, default: 200 }),
  callerName: text("Name that displays show where a message has no words.", { min: 1, max: 60, default: "Carillon" }),
  srtp: option(
    "Encrypted sound (SRTP) in calls by TLS: none, where the device can, or else no call.",
    ["off", "offer", "require"],
    { default: "offer" },
  ),
  user: text("Name for devices and servers that ask for one; a registered device is told its own.", { max: 128 }),
  password: secret("Its password."),
  realm: text("Name of the appliance as a registrar.", { min: 1, max: 64, without: '"', default: "carillon" }),
  digest: option(
    "How devices prove their password when they register; many know MD5 alone and refuse to see both.",
    ["MD5", "SHA-256", "both"],
    {
      default: "MD5",
    },
  ),
  accounts: secret(
    "Devices that may register, one a line: `name:password` for a speaker, `phone name:password` for a phone.",
    { max: 262_144 },
  ),
};
