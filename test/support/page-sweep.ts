import type { Browser } from "playwright-core";
import { type ConsolePage, WINDOW_SIZE } from "./browser.ts";
import { openConsole, PHONE_SIZE } from "./console-pages.ts";

/** An address of the console, with the rooms of the sheet that opens there, by their labels. */
export interface SweptPage {
  path: string;
  tabs?: readonly string[];
}

/**
 * Opens pages and each room of their sheets, and looks at each in light, in dark and on a phone; answers what axe, the
 * browser and the content security policy find, and what does not fit into the window.
 */
export async function checkPages(browser: Browser, url: string, swept: readonly SweptPage[]): Promise<string[]> {
  const console = await openConsole(browser, url, { colorScheme: "light" });
  const found: string[] = [];
  for (const { path, tabs = [] } of swept) {
    await console.open(path);
    found.push(...(await faultsOf(console, path)));
    for (const tab of tabs) {
      await console.page.getByRole("tab", { name: tab, exact: true }).click();
      await console.page.waitForSelector("[role=tabpanel]:visible");
      await console.idle();
      found.push(...(await faultsOf(console, `${path} ${tab}`)));
    }
  }
  return [...found, ...console.errors];
}

/** Colours depend on the scheme alone, everything else on the width alone, so that no rule is tried twice in one look. */
async function faultsOf({ page, axe, idle }: ConsolePage, where: string): Promise<string[]> {
  const inLight = await axe();
  await page.emulateMedia({ colorScheme: "dark" });
  const inDark = await axe("colours");
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(PHONE_SIZE);
  await idle();
  const onPhone = await axe("others");
  // A sheet lies above the page, so its own body is what must not be wider than the window.
  const parts = "[document.documentElement, ...document.querySelectorAll('[role=dialog], dialog, main')]";
  if (await page.evaluate(`${parts}.some((part) => part.scrollWidth > innerWidth)`)) {
    onPhone.push("is wider than the window");
  }
  await page.setViewportSize(WINDOW_SIZE);
  const looks = { "in light": inLight, "in dark": inDark, "on a phone": onPhone };
  return Object.entries(looks).flatMap(([look, faults]) => faults.map((fault) => `${where} ${look}: ${fault}`));
}
