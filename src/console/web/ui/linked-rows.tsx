import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { ROUTES, type RouteFor, type RouteParams, type RouteQuery } from "../api/routes.ts";
import { useRowMutation, useRows } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";
import { ErrorLine } from "./error-line.tsx";
import { RowSelect } from "./form/row-select.tsx";
import "./lines.css";

/** Linked rows, how to link and unlink, and the labels. */
export interface LinkedRowsProps<T> {
  /** Where the ties stand: read and made. */
  route: RouteFor<"get"> & RouteFor<"post">;
  params: RouteParams;
  query?: RouteQuery;
  /** Where what can be tied is chosen from. */
  from: RouteFor<"get">;
  /** Id of what a line is tied to. */
  idOf(row: T): string;
  nameOf(row: T): string;
  /** The line, unless its name is enough. */
  line?(row: T): ReactNode;
  tie(id: string): Promise<unknown>;
  untie(id: string): Promise<unknown>;
  words: {
    none: string;
    some: string;
    add: string;
    choose: string;
    untied(name: string): string;
    untie(name: string): string;
  };
}

/** The most that the API gives at a time. */
const LIMIT = 1_000;

/** Rows linked to another row; unlinking can be undone. */
export function LinkedRows<T>({
  route,
  params,
  query,
  from,
  idOf,
  nameOf,
  line,
  tie,
  untie,
  words,
}: LinkedRowsProps<T>) {
  const { t } = useTranslation();
  const { notify } = useConsole();
  const { resource } = ROUTES[route];
  const [chosen, setChosen] = useState<string | null>(null);
  const [start, setStart] = useState(0);
  const ties = useRows<T>(route, params, { limit: LIMIT, ...(start > 0 ? { skip: start } : {}), ...query });
  const tying = useRowMutation(resource, async (id: string) => {
    await tie(id);
    setChosen(null);
    notify(t("saved"));
  });
  const untying = useRowMutation(resource, async (row: T) => {
    await untie(idOf(row));
    notify(words.untied(nameOf(row)), () => tying.mutate(idOf(row)));
  });
  const rows = ties.data?.data ?? [];
  const isLeaving = (row: T) => untying.isPending && idOf(untying.variables) === idOf(row);
  return (
    <section className="stack">
      <ErrorLine error={ties.error ?? untying.error} />
      <p className="soft">{ties.data?.total === 0 ? words.none : words.some}</p>
      <ul className="plain lined">
        {rows.map((row) => (
          <li key={idOf(row)} className="row">
            {line ? <span className="grow">{line(row)}</span> : <strong className="grow">{nameOf(row)}</strong>}
            <Button
              variant="default"
              size="compact-sm"
              loading={isLeaving(row)}
              aria-label={words.untie(nameOf(row))}
              onClick={() => untying.mutate(row)}
            >
              {t("remove")}
            </Button>
          </li>
        ))}
      </ul>
      <Paging {...{ start, shown: rows.length, total: ties.data?.total ?? 0 }} onTurn={setStart} />
      <div className="row end">
        <div className="grow">
          <RowSelect
            label={words.add}
            placeholder={words.choose}
            route={from}
            without={new Set(rows.map(idOf))}
            value={chosen}
            onChange={setChosen}
          />
        </div>
        <Button disabled={!chosen} loading={tying.isPending} onClick={() => chosen && tying.mutate(chosen)}>
          {t("add")}
        </Button>
      </div>
      <ErrorLine error={tying.error} />
    </section>
  );
}

interface PagingProps {
  /** How many stand before the first that is shown. */
  start: number;
  shown: number;
  total: number;
  onTurn(start: number): void;
}

/** Says which part of a list is shown, and turns to another; nothing where all of it is. */
function Paging({ start, shown, total, onTurn }: PagingProps) {
  const { t } = useTranslation();
  if (start === 0 && total <= shown) return null;
  return (
    <div className="row">
      <span className="soft grow" role="status">
        {t("ties.part", { first: Math.min(start + 1, total), last: start + shown, total })}
      </span>
      <Button
        variant="default"
        size="compact-sm"
        disabled={start === 0}
        onClick={() => onTurn(Math.max(0, start - LIMIT))}
      >
        {t("ties.before")}
      </Button>
      <Button
        variant="default"
        size="compact-sm"
        disabled={start + shown >= total}
        onClick={() => onTurn(start + LIMIT)}
      >
        {t("ties.after")}
      </Button>
    </div>
  );
}
