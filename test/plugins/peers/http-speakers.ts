import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { OpenMutePeer } from "../peer.ts";

/** A device that says yes to every request and never that it plays. */
const openMutePeer: OpenMutePeer = async () => {
  let questions = 0;
  let wasAsked = (): void => {};
  const asked = new Promise<void>((resolve) => {
    wasAsked = resolve;
  });
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.end("idle"));
    if (request.url === "/status" && ++questions === 2) wasAsked();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const start = { path: "/start", body: '{"text": "{{short}}"}' };
  const status = { method: "GET", path: "/status" };
  const Url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    config: { templates: [{ name: "mute", start, stop: { path: "/stop" }, status, playingWhen: "playing" }] },
    device: {
      id: "0198f3a0-0000-7000-8000-00000000f00e",
      deviceIdentifier: "http:mute",
      attributes: { Url, Template: "mute" },
    },
    proves: "accepted",
    asked: () => asked,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
};

export default openMutePeer;
