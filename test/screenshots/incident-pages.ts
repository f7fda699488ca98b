import type { Page } from "playwright-core";
import type { Screenshot } from "./screenshots.ts";

const drill = (page: Page) => page.getByRole("radio", { name: "DRILL" }).check();
const tab = (name: string) => async (page: Page) => {
  await page.getByRole("tab", { name, exact: true }).click();
  await page.waitForSelector("[role=tabpanel]:visible");
};

/** Pages of scenarios, incidents, tables and loads. */
export const INCIDENT_PAGES: readonly Screenshot[] = [
  { name: "scenarios", path: "/scenarios", wait: "[role=cell]" },
  { name: "scenario", path: "/scenarios?open={lockdown}", wait: "[role=dialog] input" },
  {
    name: "scenario-questions",
    path: "/scenarios?open={lockdown}",
    wait: "[role=dialog] input",
    act: (page) => page.getByRole("button", { name: "Add question" }).scrollIntoViewIfNeeded(),
  },
  { name: "scenario-try", path: "/scenarios?open={lockdown}", act: tab("Preview") },
  { name: "scenario-start", path: "/scenarios/{fire}/start", wait: ".foreseen", act: drill },
  { name: "launch", path: "/launch", wait: ".launch-tile" },
  { name: "launch-drill", path: "/launch", wait: ".launch-tile", act: drill },
  { name: "launch-pin", path: "/launch?open={lockdown}", wait: ".reach-line" },
  { name: "incident-plan", path: "/incident-plans?open={plan}", wait: "[role=dialog] input" },
  { name: "incident-plan-files", path: "/incident-plans?open={plan}", act: tab("Files and links") },
  { name: "incidents", path: "/incidents", wait: "[role=cell]" },
  { name: "incident", path: "/incidents/{incident}", wait: ".timeline li" },
  { name: "uploads", path: "/bulk-uploads", wait: "[role=cell]" },
  { name: "upload-new", path: "/bulk-uploads?open=new", wait: "[role=dialog] input" },
  { name: "upload-passed", path: "/bulk-uploads?open={goodTable}", wait: "[role=dialog] [role=cell]" },
  { name: "upload-faults", path: "/bulk-uploads?open={badTable}", wait: "[role=dialog] [role=cell]" },
  { name: "load", path: "/load-definitions?open={source}", wait: "[role=dialog] input" },
  { name: "load-stopped", path: "/load-definitions?open={source}", act: tab("Import runs") },
  { name: "licences", path: "/system?open=licences", wait: "[role=dialog] input" },
];
