import type { Page } from "playwright-core";
import type { Shot } from "./pictures.ts";

const who = (page: Page) => page.getByRole("textbox", { name: "Who would call this device?" }).fill("Room 1");

/** Pages about health, backups, call managers and who calls which device. */
export const WATCH_PAGES: readonly Shot[] = [
  { name: "health", path: "/system-health", wait: ".chart canvas" },
  { name: "backups", path: "/backups", wait: "h1" },
  { name: "activation", path: "/activation-groups", wait: "h1", act: who },
  { name: "activation-new", path: "/activation-groups?open=new", wait: "[role=dialog] input" },
  { name: "clusters", path: "/clusters", wait: "h1" },
  { name: "cluster-new", path: "/clusters?open=new", wait: "[role=dialog] input" },
];
