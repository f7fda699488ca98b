import type { Browser } from "playwright-core";
import type { ConsolePage } from "./browser.ts";
import { openConsole, PHONE_SIZE } from "./console-pages.ts";

/** An address of the console, with the rooms of the sheet that opens there, by their labels. */
export interface Swept {
  path: string;
  tabs?: readonly string[];
}

const LOOKS = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  phone: { viewport: PHONE_SIZE },
} as const;

/** How a page is looked at. */
export type Look = keyof typeof LOOKS;

/** The ways in which every page is looked at. */
export const ALL_LOOKS = Object.keys(LOOKS) as Look[];

/**
 * Opens pages and each room of their sheets in a look; answers what axe, the browser and the content security policy
 * find, and which sheet does not fit into the window.
 */
export async function sweepSheets(
  browser: Browser,
  url: string,
  look: Look,
  swept: readonly Swept[],
): Promise<string[]> {
  const console = await openConsole(browser, url, LOOKS[look]);
  const found: string[] = [];
  for (const { path, tabs = [] } of swept) {
    await console.open(path);
    found.push(...(await faultsOf(console, path)));
    for (const tab of tabs) {
      await console.page.getByRole("tab", { name: tab, exact: true }).click();
      await console.page.waitForSelector("[role=tabpanel]:visible");
      await console.page.waitForLoadState("networkidle");
      found.push(...(await faultsOf(console, `${path} ${tab}`)));
    }
  }
  return [...found, ...console.faults];
}

async function faultsOf({ page, axe }: ConsolePage, where: string): Promise<string[]> {
  const found = (await axe()).map((fault) => `${where}: ${fault}`);
  // A sheet lies above the page, so its own body is what must not be wider than the window.
  const parts = "[...document.querySelectorAll('[role=dialog], main')]";
  const isWide = await page.evaluate(`${parts}.some((part) => part.scrollWidth > innerWidth)`);
  return isWide ? [...found, `${where}: is wider than the window`] : found;
}
