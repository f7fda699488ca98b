import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { newConsolePage, startBrowser } from "../support/browser.ts";
import { dragBy, openConsole } from "../support/console-pages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { checkPages } from "../support/page-sweep.ts";
import { createSamplePlaces } from "../support/place-samples.ts";

const { describe, it } = externalProgram("chromium");

interface Pinned {
  pinnedLocation: { coordinates: [number, number] } | null;
}

/** What a browser says of the colour that the first element stands on. */
const colorOf = (selector: string) => `getComputedStyle(document.querySelector("${selector}")).backgroundColor`;

describe("places in the console", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  let ids: Record<string, string>;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    ids = await createSamplePlaces({
      post: (path, body) => made("POST", path, body),
      put: (path, body) => made("PUT", path, body),
    });
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  async function made(method: string, path: string, body: object): Promise<{ id: string }> {
    const answer = await daemon.call<{ id: string }>(method, path, body);
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.body;
  }

  const pinned = async () => (await daemon.call<Pinned>("GET", `/api-devices/${ids.button}`)).body.pinnedLocation;

  it("creates a zone in the tree, moves an input on the plan by keyboard, and lists what is deleted with a site", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open("/places");
    await page.getByRole("button", { name: "Expand North campus" }).click();
    await page.getByRole("button", { name: "Expand Main building" }).click();
    await page.getByRole("button", { name: "Expand Ground floor" }).click();
    await page.getByRole("button", { name: "New zone in Ground floor" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("Kitchen");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Kitchen" }).waitFor();
    await page.getByText("3 zones").waitFor();
    await page.getByRole("button", { name: "Ground floor", exact: true }).click();
    await page.getByRole("tab", { name: "Plan" }).click();
    await page.getByRole("button", { name: "Button at the desk: move with the arrow keys" }).press("ArrowLeft");
    // A hundredth of the width of 0.0016 degrees.
    await expect.poll(async () => (await pinned())?.coordinates[0].toFixed(6)).toBe("9.747384");
    await page.getByRole("button", { name: "Place Badge reader on the plan" }).click();
    await page.getByRole("button", { name: "Badge reader: move with the arrow keys" }).waitFor();
    await open(`/places?open=${ids.site}`);
    await page.getByText("2 buildings with their contents").waitFor();
    await page.getByText("3 inputs located here").waitFor();
    expect(errors).toEqual([]);
  });

  it("draws an area by hand and by numbers, shows who is inside, and requests no external map", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    const asked = new Set<string>();
    page.on("request", (request) => asked.add(new URL(request.url()).origin));
    await open(`/areas?open=${ids.area}`);
    await dragBy(page.locator(".map-middle"), { x: 11, y: 11 }, { x: 60, y: 0 });
    await page.getByLabel("Radius in metres").fill("200");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    const area = await daemon.call<{
      geometryValue: { geometry: { coordinates: [number, number] }; properties: { radiusInM: number } };
    }>("GET", `/areas-of-interest/${ids.area}`);
    const { geometry, properties } = area.body.geometryValue;
    expect([properties.radiusInM, geometry.coordinates[0] > 9.7471 + 0.0002]).toEqual([200, true]);
    expect(geometry.coordinates[1]).toBeCloseTo(47.4979, 4);
    await page.getByRole("tab", { name: "Inside now" }).click();
    await page.getByText("No one is inside now.").waitFor();
    const phone = await made("POST", `/users/${ids.head}/devices`, { type: "Android", name: "Phone" });
    const [longitude, latitude] = geometry.coordinates;
    await made("POST", `/users/${ids.head}/devices/${phone.id}/locations`, { longitude, latitude });
    await page.getByRole("link", { name: "Greta Haller" }).waitFor();
    await page.getByRole("button", { name: "New area" }).click();
    await page.getByLabel("Name").fill("Pond");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Pond" }).waitFor();
    await page.getByRole("button", { name: "All areas" }).click();
    await page.getByRole("button", { name: /^School and yard/ }).click();
    await page.getByRole("tab", { name: "Triggers" }).click();
    await page.getByRole("button", { name: /^Welcome/ }).click();
    await page.getByRole("tab", { name: "History" }).click();
    await page.locator("[role=cell]", { hasText: "Greta Haller" }).waitFor();
    expect([[...asked], errors]).toEqual([[daemon.url], []]);
  });

  it("shows a colour before it is saved, and wears it at the door", async () => {
    const { page, open, errors } = await openConsole(browser, daemon.url);
    await open("/branding");
    await page.getByLabel("First colour", { exact: true }).fill("#ffdd00");
    await page.getByText("not readable on white").waitFor();
    await page.getByLabel("First colour", { exact: true }).fill("#0a5c36");
    await page.getByLabel("Name of the organisation").fill("Lake School");
    await page.getByLabel("Help pages").fill("https://help.school.example/");
    const green = "rgb(10, 92, 54)";
    await expect.poll(() => page.evaluate(colorOf(".look-button"))).toBe(green);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    const door = await newConsolePage(browser, daemon.url);
    await door.open("/");
    await door.page.getByRole("heading", { name: "Lake School" }).waitFor();
    expect(await door.page.getByRole("link", { name: "Help" }).getAttribute("href")).toBe(
      "https://help.school.example/",
    );
    await expect.poll(() => door.page.evaluate(colorOf("[type=submit]"))).toBe(green);
    expect([await door.axe(), door.errors, errors]).toEqual([[], [], []]);
  });

  it("has no findings of axe, the browser or the content security policy", async () => {
    const swept = [
      { path: `/places?open=${ids.site}/${ids.building}/${ids.floor}`, tabs: ["Plan"] },
      { path: `/areas?open=${ids.area}` },
    ];
    expect(await checkPages(browser, daemon.url, swept)).toEqual([]);
  });
});
