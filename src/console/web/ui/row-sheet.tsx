import type { VersionedRow } from "../api/client.ts";
import { ROUTES, type RouteFor, type RouteParams } from "../api/routes.ts";
import type { Row } from "../api/rows.ts";
import { useRowMutation, useSchemas } from "../api/use-rows.ts";
import { useVersionedChange, useVersionedRow } from "../api/versioned-rows.ts";
import { useConsole } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";
import { ErrorLine } from "./error-line.tsx";
import { Form } from "./form/form.tsx";
import { type DraftPlace, removeDraft } from "./form/form-drafts.ts";
import { bodyWith, type FieldOverrides, type FormValues, formFields } from "./form/form-fields.ts";
import { useDraftPlace } from "./form/use-draft-place.ts";
import { type SheetTab, SheetTabs } from "./sheet-tabs.tsx";
import { SideSheet } from "./side-sheet.tsx";
import { useRemoval } from "./use-removal.ts";

type ItemRoute = Extract<RouteFor<"put"> & RouteFor<"delete"> & RouteFor<"get">, `${RouteFor<"post">}/{${string}}`>;

/** Value of `open` in the address for a row that is being created. */
export const NEW = "new";

interface RowSheetProps {
  /** Id of the row, or `NEW`. */
  id: string;
  /** Where the row stands, in a collection that takes new ones. */
  item: ItemRoute;
  /** Ids of what the row lies in. */
  within?: RouteParams;
  /** Which fields of the declaration, and what a person needs beyond it. */
  fields: readonly FieldOverrides[];
  newTitle: string;
  /** The field that names the row; `name` unless given. */
  titleField?: string;
  /** What a new row begins with. */
  initial?: FormValues;
  /** What comes after a new row: with the fields named here, which are no part of it, and what stands in them. */
  after?: { fields: readonly string[]; made(id: string, values: FormValues): Promise<void> };
  /** Width of the sheet, for forms that hold lists of their own. */
  wide?: boolean;
  onClose(): void;
  /** What stands below the form of a row that is there. */
  children?: React.ReactNode;
  /** Further rooms of the sheet for a row that is there; the form is then the first of them. */
  tabs?: readonly SheetTab[];
}

/** One row in a side sheet: made, changed or removed. */
export function RowSheet({
  id,
  item,
  within,
  fields,
  newTitle,
  titleField = "name",
  initial,
  after,
  wide,
  onClose,
  children,
  tabs = [],
}: RowSheetProps) {
  const { t } = useTranslation();
  const params = { ...within, ...paramsOf(item, id) };
  const isNew = id === NEW;
  const read = useVersionedRow<Row & FormValues>(item, params, { enabled: !isNew });
  const row = { data: read.data?.row, error: read.error };
  const schemas = useSchemas();
  const schema = schemas.data?.resources[ROUTES[item].resource]?.schema;
  const draft = useDraftPlace(`${item} ${Object.values(params).join(" ")}`, schema);
  const saving = useSaving({ item, params, isNew, after, draft, read: read.data, onClose });
  const removeSoon = useRemoval(item);
  const drawn = formFields(schema, fields);
  const found = isNew ? {} : row.data?.id === id ? row.data : null;
  const title = isNew ? newTitle : String(row.data?.[titleField] ?? "");
  const may = (verb: string) => (found as Partial<Row> | null)?.permissions?.includes(verb) ?? false;
  const remove = () => {
    void removeSoon({ id, name: title, params });
    onClose();
  };
  const details = (
    <>
      {found && schemas.data && (
        <Form
          key={id}
          draft={draft}
          fields={isNew || may("put") ? drawn : []}
          before={found}
          {...(isNew && initial ? { initial } : {})}
          pending={saving.isPending}
          error={saving.error}
          onSave={(changed) => saving.mutate(changed)}
          onRemove={!isNew && may("delete") ? remove : undefined}
        />
      )}
      {!isNew && found && children}
      {!found && !row.error && <p role="status">{t("page.reading")}</p>}
    </>
  );
  return (
    <SideSheet title={title} onClose={onClose} wide={wide ?? false}>
      <ErrorLine error={row.error ?? schemas.error} />
      {isNew || tabs.length === 0 ? (
        details
      ) : (
        <SheetTabs label={title} tabs={[{ id: "details", label: t("details"), content: details }, ...tabs]} />
      )}
    </SideSheet>
  );
}

interface Target {
  item: ItemRoute;
  params: RouteParams;
  isNew: boolean;
  after: RowSheetProps["after"];
  draft: DraftPlace | undefined;
  /** The row as the form shows it. */
  read: VersionedRow<FormValues> | undefined;
  onClose(): void;
}

function useSaving({ item, params, isNew, after, draft, read, onClose }: Target) {
  const { client, notify } = useConsole();
  const { t } = useTranslation();
  const change = useVersionedChange();
  return useRowMutation(ROUTES[item].resource, async (changed: Record<string, unknown>) => {
    const isApart = (name: string) => isNew && after?.fields.includes(name);
    const own = Object.fromEntries(Object.entries(changed).filter(([name]) => !isApart(name)));
    const { id } = isNew
      ? await client.post<Row>(collectionOf(item), params, bodyWith(own))
      : await change<Row>(item, params, own, read);
    notify(t("saved"));
    if (draft) removeDraft(sessionStorage, draft.key);
    if (isNew && after) await after.made(id, changed);
    else onClose();
  });
}

/** `sites` of `sites/{siteId}`. */
function collectionOf(item: ItemRoute): RouteFor<"post"> {
  return item.slice(0, item.lastIndexOf("/")) as RouteFor<"post">;
}

function paramsOf(item: string, id: string): RouteParams {
  const name = /\{(\w+)\}$/.exec(item)?.[1] ?? "id";
  return { [name]: id };
}
