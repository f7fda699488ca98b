import { afterAll, beforeAll, expect, it } from "vitest";
import { SAMPLE_PNG } from "../support/sample-values.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

const open = (path: string) => api.call("GET", path, { token: null });

it("shows the product's name without a branding", async () => {
  const { body } = await open("/api/setup");
  expect(body.branding).toMatchObject({ companyName: null, logoUrl: null, primaryColor: "#24408e" });
  expect((await open("/api/branding/logo")).status).toBe(404);
});

it("logo, name and colours are shown before anybody is logged in", async () => {
  const { body: made, status } = await api.call("POST", "/brandings", {
    multipart: [
      ["companyName", "Hill <School>"],
      ["primaryColor", "#00558c"],
      ["logo", new File([new Uint8Array(SAMPLE_PNG)], "logo.png", { type: "image/png" })],
    ],
  });
  expect([status, made.defaults.defaultPrimaryColor]).toEqual([200, "#24408e"]);
  const { branding } = (await open("/api/setup")).body;
  expect(branding).toMatchObject({
    companyName: "Hill <School>",
    logoAltText: "Hill <School>",
    primaryColor: "#00558c",
  });
  const logo = await open(branding.logoUrl);
  expect([logo.status, logo.headers.get("content-type")]).toEqual([200, "image/png"]);
  const page = await open("/api/authorize?client_id=nobody");
  expect(page.text).toContain(
    `<img src="${branding.logoUrl}" alt="Hill &#60;School&#62;" height="40">Hill &#60;School&#62;`,
  );
  expect(page.text).toContain("--accent:#00558c");
  expect(page.headers.get("content-security-policy")).toContain("img-src 'self'");
  await api.call("PUT", `/brandings/${made.id}`, { json: { primaryColor: "#ffee88", logo: null } });
  const pale = await open("/api/authorize?client_id=nobody");
  expect(pale.text).not.toContain("#ffee88");
  const refused = await api.call("PUT", `/brandings/${made.id}`, { json: { primaryColor: "blue" } });
  expect([refused.status, refused.body.errors[0].field]).toEqual([400, "primaryColor"]);
  expect((await api.call("DELETE", `/brandings/${made.id}`)).status).toBe(405);
});
