import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { connect } from "node:tls";
import { describe, expect, it } from "vitest";
import { parseClientHello } from "../../../src/gateway/client-hello.ts";

/** What a real client says first. */
async function helloOf(options: { servername?: string; maxVersion?: "TLSv1.2" }): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect({ host: "127.0.0.1", port, ...options }).on("error", () => undefined);
  const [socket] = (await once(server, "connection")) as [Socket];
  let bytes = Buffer.alloc(0);
  for await (const part of socket) {
    bytes = Buffer.concat([bytes, part as Buffer]);
    if (bytes.length >= 5 + bytes.readUInt16BE(3)) break;
  }
  client.destroy();
  server.close();
  return bytes;
}

describe("the begin of a TLS connection", () => {
  it.each([{}, { maxVersion: "TLSv1.2" as const }])("says which name is asked for %j", async (version) => {
    const hello = await helloOf({ servername: "District-A.example.org", ...version });
    expect(parseClientHello(hello)).toEqual({ serverName: "district-a.example.org" });
    // However it comes in pieces.
    for (let at = 0; at < hello.length; at += 1) expect(parseClientHello(hello.subarray(0, at))).toBe("more");
    const [head, body] = [hello.subarray(0, 3), hello.subarray(5)];
    const records = [body.subarray(0, 40), body.subarray(40)].flatMap((part) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(part.length);
      return [head, length, part];
    });
    expect(parseClientHello(Buffer.concat(records))).toEqual({ serverName: "district-a.example.org" });
  });

  it("says that no name is asked for", async () => {
    expect(parseClientHello(await helloOf({}))).toEqual({ serverName: null });
  });

  it("is told from what is none, and from what never ends", async () => {
    expect(parseClientHello(Buffer.from("GET / HTTP/1.1\r\n"))).toBe("none");
    expect(parseClientHello(Buffer.from([22, 3, 1, 0, 0]))).toBe("none");
    expect(parseClientHello(Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]))).toBe("none");
    const endless = Buffer.alloc(40_000);
    for (let at = 0; at < endless.length; at += 8_005) Buffer.from([22, 3, 1, 31, 64]).copy(endless, at);
    Buffer.from([1, 255, 255, 255]).copy(endless, 5);
    expect(parseClientHello(endless)).toBe("none");
  });

  it("may be nonsense in any byte, which does no harm", async () => {
    const hello = await helloOf({ servername: "district-a.example.org" });
    for (let at = 5; at < hello.length; at += 1) {
      for (const value of [0, 255]) {
        const bent = Buffer.from(hello);
        bent[at] = value;
        expect(() => parseClientHello(bent)).not.toThrow();
      }
    }
  });
});
