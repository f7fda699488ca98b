import type { AddressInfo } from "node:net";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";
import type { ReceivedMessage, SimulatedService, SimulatedServiceDeps } from "./service.ts";

/** An SMTP server that accepts mail for any address, without TLS and authentication. */
export async function openSmtpServer({ at }: SimulatedServiceDeps): Promise<SimulatedService> {
  const receptions: ReceivedMessage[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    closeTimeout: 1,
    onData(stream, { envelope }, done) {
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", async () => {
        const { subject = "", text = "" } = await PostalMime.parse(Buffer.concat(parts));
        for (const { address } of envelope.rcptTo) {
          receptions.push({ service: "mail", to: address, words: `${subject}\n${text}`, packets: 0, at: at() });
        }
        done();
      });
    },
  });
  // Connection errors of clients are ignored.
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    connectionSettings: { host: "127.0.0.1", port: String((server.server.address() as AddressInfo).port) },
    receptions: () => receptions,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
