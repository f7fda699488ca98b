import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestMailServer, type TestMailServer } from "../plugins/mail-server.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

type Row = Record<string, unknown> & { id: string };

describe("a message by mail and text", () => {
  let daemon: TestDaemon;
  let server: TestMailServer;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    server = await openTestMailServer();
  });

  const closing: (() => void)[] = [];
  afterAll(async () => {
    for (const close of closing) close();
    await daemon?.stop();
    await server?.close();
  });

  const make = async (path: string, body: object): Promise<string> => {
    const { status, body: row } = await daemon.call<Row>("POST", path, body);
    expect([200, 201], JSON.stringify(row)).toContain(status);
    return row.id;
  };

  /** The ledger is written a moment after the fact. */
  const counted = async (id: string, numbers: object): Promise<void> => {
    const shown = async () => (await daemon.call("GET", `/notifications/${id}`)).body;
    await expect.poll(shown, { timeout: 90_000 }).toMatchObject(numbers);
  };

  it("reaches a person, who answers by its link without an account", async () => {
    const extensions = await daemon.call<{ data: Row[] }>("GET", "/extensions?type=device");
    const email = extensions.body.data.find(({ name }) => name === "email");
    const config = { host: "127.0.0.1", port: server.port, security: "none", from: "bells@example.org" };
    const set = await daemon.call("PUT", `/extensions/${email?.id}`, { config, disabled: false });
    expect(set.status).toBe(200);
    const userId = await make("/users", { name: "Ada Byron", email: "ada@example.org" });
    await make(`/users/${userId}/devices`, { type: "email", deviceIdentifier: "ada@home.example.org" });
    const options = ["I am safe", "I need help"];
    const confirmationRequestId = await make("/confirmation-requests", { name: "Roll call", options });
    const reply = { optionLabel: "I need help", quota: 1, first: "Help is on its way." };
    await make(`/confirmation-requests/${confirmationRequestId}/dynamic-replies`, reply);
    const message = { subject: "Roll call", body: "Where are you?", userIds: [userId], confirmationRequestId };
    const notificationId = await make("/notifications", message);
    await server.came(1);
    const [mail] = server.mails;
    expect(mail?.envelope.to).toEqual(["ada@home.example.org"]);
    const link = /https?:\/\/\S+\/answer\/[0-9a-f]+/.exec(mail?.text ?? "")?.[0] ?? "";
    expect(link.startsWith(daemon.url)).toBe(true);

    const opened = await fetch(link, { headers: { "accept-language": "en" } });
    const page = await opened.text();
    expect(opened.status).toBe(200);
    for (const words of ["Where are you?", ...options]) expect(page).toContain(words);
    const recipients = `/notifications/${notificationId}/recipients`;
    const before = await daemon.call<{ data: Row[] }>("GET", recipients);
    expect(before.body.data).toMatchObject([{ confirmationResponse: null }]);

    const press = (address: string, option: string): Promise<Response> =>
      fetch(address, { method: "POST", body: new URLSearchParams({ option }) });
    const pressed = await press(link, "I need help");
    expect(pressed.status).toBe(200);
    const thanks = await pressed.text();
    for (const words of ["Thank you. Your answer is: I need help", reply.first]) expect(thanks).toContain(words);
    const after = await daemon.call<{ data: Row[] }>("GET", recipients);
    const given = { confirmationResponse: "I need help", dynamicReply: reply.first, read: true };
    expect(after.body.data).toMatchObject([given]);
    await counted(notificationId, { progress: expect.objectContaining({ emailSentCount: 1, emailFailedCount: 0 }) });

    expect((await press(link, "I am a bot")).status).toBe(400);
    expect(
      (
        await press(
          link.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
          "I am safe",
        )
      ).status,
    ).toBe(404);
    expect((await fetch(`${daemon.url}/answer/${"0".repeat(120)}`)).status).toBe(404);
    const ended = await daemon.call("POST", `/notifications/${notificationId}/activities`, { type: "abort" });
    expect(ended.status).toBe(200);
    const late = await press(link, "I am safe");
    expect(late.status).toBe(409);
    expect(await late.text()).toContain("Too late");
    const devices = await daemon.call<{ data: Row[] }>("GET", `/notifications/${notificationId}/devices`);
    expect(devices.body.data).toMatchObject([{ type: "email", level: "accepted" }]);
  });

  it("accepts a response by text message", async () => {
    const extensions = await daemon.call<{ data: Row[] }>("GET", "/extensions?type=device");
    const sms = extensions.body.data.find(({ name }) => name === "sms");
    const carrier = createServer((_request, response) => response.end('{"id":"1"}')).listen(0, "127.0.0.1");
    await once(carrier, "listening");
    closing.push(() => carrier.close());
    const gatewayUrl = `http://127.0.0.1:${(carrier.address() as AddressInfo).port}/send`;
    const gateway = { transport: "http", gatewayUrl, inboundToken: "t0ken" };
    await daemon.call("PUT", `/extensions/${sms?.id}`, { config: gateway, disabled: false });
    const userId = await make("/users", { name: "Bob", email: "bob@example.org" });
    await make(`/users/${userId}/devices`, { type: "SMS", deviceIdentifier: "+49 170 1234567" });
    const confirmationRequestId = await make("/confirmation-requests", { name: "Here?", options: ["Yes", "No"] });
    const message = { subject: "Roll call", userIds: [userId], confirmationRequestId };
    const notificationId = await make("/notifications", message);
    const recipients = `/notifications/${notificationId}/recipients`;
    const bring = async (): Promise<number> => {
      const body = JSON.stringify({ from: "491701234567", text: "2" });
      const headers = { "content-type": "application/json", authorization: "Bearer t0ken" };
      return (await fetch(`${daemon.url}/x/sms/inbound`, { method: "POST", headers, body })).status;
    };
    await expect.poll(bring, { timeout: 90_000 }).toBe(204);
    const after = await daemon.call<{ data: Row[] }>("GET", recipients);
    expect(after.body.data).toMatchObject([{ confirmationResponse: "No" }]);
    await counted(notificationId, { smsSent: 1, smsReceived: 1, confirmationResults: { Yes: 0, No: 1 } });
  });
});
