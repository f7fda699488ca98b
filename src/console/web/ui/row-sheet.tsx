import { ROUTES, type RouteFor, type RouteParams } from "../api/routes.ts";
import type { Row } from "../api/rows.ts";
import { useRow, useRowMutation, useSchemas } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";
import { ErrorLine } from "./error-line.tsx";
import { Form } from "./form/form.tsx";
import { bodyWith, type FieldOverrides, type FormValues, formFields } from "./form/form-fields.ts";
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
  const row = useRow<Row & FormValues>(item, params, {}, { enabled: !isNew });
  const saving = useSaving({ item, params, isNew, after, onClose });
  const removeSoon = useRemoval(item);
  const schemas = useSchemas();
  const drawn = formFields(schemas.data?.resources[ROUTES[item].resource]?.schema, fields);
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
  onClose(): void;
}

function useSaving({ item, params, isNew, after, onClose }: Target) {
  const { client, notify } = useConsole();
  const { t } = useTranslation();
  return useRowMutation(ROUTES[item].resource, async (changed: Record<string, unknown>) => {
    const isApart = (name: string) => isNew && after?.fields.includes(name);
    const body = bodyWith(Object.fromEntries(Object.entries(changed).filter(([name]) => !isApart(name))));
    const { id } = isNew
      ? await client.post<Row>(collectionOf(item), params, body)
      : await client.put<Row>(item, params, body);
    notify(t("saved"));
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
