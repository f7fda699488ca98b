import { TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { DeviceRow, GroupRow, Named, NotificationRow, TemplateRow, UserRow } from "../api/rows.ts";
import type { ScenarioRow } from "../api/scenario-rows.ts";
import { useCloudLink, useRows } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { isForbidden } from "../i18n/error-text.ts";
import { useTranslation } from "../i18n/use-translation.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorLine } from "../ui/error-line.tsx";
import { isPagePath, PAGE_HELP } from "../ui/page-help.ts";
import { SECTION_TABS } from "../ui/section-tabs.tsx";
import { NAVIGATION } from "./navigation.tsx";
import "@mantine/core/styles/Input.css";

interface Hit {
  key: string;
  kind: string;
  text: string;
  go(): void;
}

const LIMIT = 6;
const DEBOUNCE_MS = 150;

const named = ({ name }: Named): string => name;

/** Ctrl-K: pages, their help, actions, and rows of many kinds by a few letters. Actions open the page that shows their effect. */
export default function SearchDialog({ onClose }: { onClose: () => void }) {
  const { t, loadComplete } = useTranslation();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const typed = text.trim();
  const { hits, isReading, error } = useHits(typed, useDebounced(typed));
  // The first page has not loaded the titles of all pages.
  useEffect(() => loadComplete(), [loadComplete]);
  const choose = (hit: Hit | undefined) => {
    if (!hit) return;
    hit.go();
    onClose();
  };
  const onKey = (key: string) => {
    if (key === "ArrowDown") setAt(Math.min(at + 1, hits.length - 1));
    else if (key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (key === "Enter") choose(hits[at]);
  };
  return (
    <Dialog onClose={onClose} title={t("search.title")}>
      <div className="stack">
        <TextInput
          data-autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls="search-hits"
          {...(hits[at] ? { "aria-activedescendant": hits[at].key } : {})}
          aria-label={t("search.label")}
          placeholder={t("search.label")}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={(event) => onKey(event.key)}
        />
        <ErrorLine error={error} />
        <div id="search-hits" role="listbox" aria-label={t("search.hits")} className="stack">
          {hits.map((hit, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys are read in the field
            // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
            <div
              key={hit.key}
              id={hit.key}
              role="option"
              aria-selected={index === at}
              className="tile"
              style={index === at ? { borderColor: "var(--accent)" } : {}}
              onClick={() => choose(hit)}
            >
              {hit.text}
              <small>{hit.kind}</small>
            </div>
          ))}
        </div>
        {hits.length === 0 && !isReading && <p className="soft">{t("search.none")}</p>}
      </div>
    </Dialog>
  );
}

/** The text once nothing was typed for a moment, so that not every letter asks the appliance. */
function useDebounced(text: string): string {
  const { clock } = useConsole();
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = clock.after(DEBOUNCE_MS, () => setSettled(text));
    return () => timer.cancel();
  }, [clock, text]);
  return settled;
}

/** Every page of the console once; those of the main navigation under its words. */
function usePageHits(text: string): Hit[] {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const isHub = useCloudLink()?.role === "hub";
  const tabs = Object.values(SECTION_TABS).flatMap((section) =>
    section.filter((tab) => isHub || !("atHub" in tab)).map(({ to, word }) => ({ to, word })),
  );
  const found = [...NAVIGATION.map(({ to, word }) => ({ to, word })), ...tabs].filter(({ word }) =>
    contains(t(word), text),
  );
  const pages = found.filter(({ to }, at) => found.findIndex((each) => each.to === to) === at);
  return pages.flatMap(({ to, word }) => [
    { key: to, kind: t("search.page"), text: t(word), go: () => void navigate({ to }) },
    ...(text !== "" && isPagePath(to)
      ? [
          {
            key: `help ${to}`,
            kind: t("search.help"),
            text: t(word),
            go: () => void window.open(`/help/${PAGE_HELP[to]}`, "_blank", "noopener"),
          },
        ]
      : []),
  ]);
}

/** Everyday actions; each opens the page where it is prepared, previewed and confirmed. */
function useActionHits(text: string): Hit[] {
  const { t } = useTranslation();
  const navigate = useNavigate();
  if (text === "") return [];
  const actions = [
    { word: "search.action.delay", go: () => navigate({ to: "/bells", search: { open: "change" } }) },
    { word: "search.action.speak", go: () => navigate({ to: "/speak" }) },
    { word: "search.action.send", go: () => navigate({ to: "/send" }) },
    { word: "search.action.backup", go: () => navigate({ to: "/backups" }) },
    { word: "search.action.add-devices", go: () => navigate({ to: "/welcome" }) },
    { word: "search.action.print", go: () => navigate({ to: "/bell-print" }) },
  ] as const;
  // A number says how much, as in "delay 60": the page asks for it.
  const words = text.split(/\s+/).filter((word) => !/^\d+$/.test(word));
  return actions
    .filter(({ word }) => words.length > 0 && words.every((each) => contains(t(word), each)))
    .map(({ word, go }) => ({ key: word, kind: t("search.action"), text: t(word), go: () => void go() }));
}

function contains(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

function useHits(typed: string, text: string): { hits: Hit[]; isReading: boolean; error: unknown } {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const enabled = { enabled: text.length > 1 };
  const query = { q: text, limit: 100 };
  const pages = usePageHits(typed);
  const actions = useActionHits(typed);
  const templates = useRows<TemplateRow>("message-templates", {}, query, enabled);
  const scenarios = useRows<ScenarioRow>("scenarios", {}, query, enabled);
  const users = useRows<UserRow>("users", {}, query, enabled);
  const devices = useRows<DeviceRow>("devices", {}, query, enabled);
  const groups = useRows<GroupRow>("device-groups", {}, query, enabled);
  const sites = useRows<Named>("sites", {}, query, enabled);
  const schedules = useRows<Named>("bell-schedules", {}, query, enabled);
  const ringLists = useRows<Named>("ring-lists", {}, query, enabled);
  const lists = useRows<Named>("distribution-lists", {}, query, enabled);
  const broadcasts = useRows<NotificationRow>(
    "notifications",
    {},
    { ...query, draft: false, sort: "-createdAt" },
    enabled,
  );
  const found = <T extends { id: string }>(
    rows: readonly T[] | undefined,
    kind: string,
    words: (row: T) => string,
    go: (row: T) => unknown,
  ): Hit[] =>
    (enabled.enabled ? (rows ?? []) : [])
      .filter((row) => contains(words(row), text))
      .slice(0, LIMIT)
      .map((row) => ({ key: row.id, kind, text: words(row), go: () => void go(row) }));
  const all = [templates, scenarios, users, devices, groups, sites, schedules, ringLists, lists, broadcasts];
  const hits = [
    ...pages.filter(({ key }) => !key.startsWith("help ")),
    ...actions,
    ...found(
      scenarios.data?.data,
      t("scenarios.title"),
      ({ name }) => name,
      ({ id }) => navigate({ to: "/scenarios/$scenarioId/start", params: { scenarioId: id } }),
    ),
    ...found(
      templates.data?.data,
      t("templates.title"),
      ({ name }) => name,
      ({ id }) => navigate({ to: "/send", search: { open: id } }),
    ),
    ...found(
      users.data?.data,
      t("users.title"),
      ({ name, email }) => [name, email].filter(Boolean).join(" · "),
      ({ id }) => navigate({ to: "/people", search: { open: id } }),
    ),
    ...found(
      devices.data?.data,
      t("devices.title"),
      (row) => `${row.description} · ${row.deviceIdentifier}`,
      ({ id }) => navigate({ to: "/devices", search: { open: id } }),
    ),
    ...found(
      groups.data?.data,
      t("groups.title"),
      ({ name }) => name,
      ({ id }) => navigate({ to: "/device-groups", search: { open: id } }),
    ),
    ...found(
      scenarios.data?.data.map((row) => ({ ...row, id: `drill ${row.id}`, scenarioId: row.id })),
      t("search.action"),
      ({ name }) => t("search.action.drill", { name }),
      ({ scenarioId }) =>
        navigate({ to: "/scenarios/$scenarioId/start", params: { scenarioId }, search: { drill: "true" } }),
    ),
    ...found(sites.data?.data, t("places.title"), named, ({ id }) => navigate({ to: "/places", search: { open: id } })),
    ...found(schedules.data?.data, t("schedules.title"), named, ({ id }) =>
      navigate({ to: "/bell-schedules", search: { open: id } }),
    ),
    ...found(ringLists.data?.data, t("ring-lists.title"), named, ({ id }) =>
      navigate({ to: "/ring-lists", search: { open: id } }),
    ),
    ...found(lists.data?.data, t("lists.title"), named, ({ id }) => navigate({ to: "/lists", search: { open: id } })),
    ...found(
      broadcasts.data?.data,
      t("notifications.title"),
      ({ subject }) => subject ?? "",
      ({ id }) => navigate({ to: "/broadcasts/$notificationId", params: { notificationId: id } }),
    ),
    ...pages.filter(({ key }) => key.startsWith("help ")),
  ];
  return {
    hits,
    isReading: all.some((each) => each.isFetching),
    // What somebody may not see is not found.
    error: all.map((each) => each.error).find((each) => each && !isForbidden(each)) ?? null,
  };
}
