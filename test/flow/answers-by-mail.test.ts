import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openMailServer, type TestMailServer } from "../plugins/mail-server.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

type Row = Record<string, unknown> & { id: string };

describe("a message by mail and text", () => {
  let daemon: TestDaemon;
  let server: TestMailServer;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    server = await openMailServer();
  });

  afterAll(async () => {
    await daemon?.stop();
    await server?.close();
  });

  const make = async (path: string, body: object): Promise<string> => {
    const { status, body: row } = await daemon.call<Row>("POST", path, body);
    expect([200, 201], JSON.stringify(row)).toContain(status);
    return row.id;
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
    expect(await pressed.text()).toContain("Thank you. Your answer is: I need help");
    const after = await daemon.call<{ data: Row[] }>("GET", recipients);
    expect(after.body.data).toMatchObject([{ confirmationResponse: "I need help", read: true }]);

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

  it("is answered by a text message, too", async () => {
    const extensions = await daemon.call<{ data: Row[] }>("GET", "/extensions?type=device");
    const sms = extensions.body.data.find(({ name }) => name === "sms");
    const gateway = { transport: "http", gatewayUrl: "http://127.0.0.1:9/send", inboundToken: "t0ken" };
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
    await expect.poll(bring, { timeout: 20_000 }).toBe(204);
    const after = await daemon.call<{ data: Row[] }>("GET", recipients);
    expect(after.body.data).toMatchObject([{ confirmationResponse: "No" }]);
    const shown = await daemon.call("GET", `/notifications/${notificationId}`);
    expect(shown.body).toMatchObject({ smsReceived: expect.any(Number) });
  });
});
