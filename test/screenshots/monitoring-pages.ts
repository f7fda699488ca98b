import type { Page } from "playwright-core";
import type { Screenshot } from "./screenshots.ts";

const who = async (page: Page) => {
  await page.getByRole("textbox", { name: "Which appliance would call this device?" }).fill("Room 1");
  await page.getByText("the appliance that serves it activates it").waitFor();
};

/** Pages about health, backups, call managers and who calls which device. */
export const MONITORING_PAGES: readonly Screenshot[] = [
  { name: "watch-health", path: "/system-health", wait: ".chart canvas" },
  { name: "watch-backups", path: "/backups", wait: "h1" },
  { name: "watch-settings", path: "/settings", wait: "h1" },
  { name: "watch-activation", path: "/activation-groups", wait: "h1", act: who },
  { name: "watch-activation-new", path: "/activation-groups?open=new", wait: "[role=dialog] input" },
  { name: "watch-clusters", path: "/clusters", wait: "h1" },
  { name: "watch-cluster-new", path: "/clusters?open=new", wait: "[role=dialog] input" },
];
