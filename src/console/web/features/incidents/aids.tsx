import { Button, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { type RouteFor, type RouteParams, routeUrl } from "../../api/routes.ts";
import type { IncidentAidRow } from "../../api/scenario-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { DropZone } from "../../ui/drop-zone.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RemoveButton } from "../../ui/remove-button.tsx";
import { sizeText } from "../uploads/upload-text.ts";
import "../../ui/input-styles.ts";

/** Where files and links of a plan, or of an incident, stand. */
interface AidsOf {
  list: RouteFor<"get"> & RouteFor<"post">;
  one: RouteFor<"delete">;
  file: RouteFor<"get">;
}

/** Those of a plan. */
export const PLAN_AIDS = {
  list: "incident-plans/{incidentPlanId}/resources",
  one: "incident-plans/{incidentPlanId}/resources/{resourceId}",
  file: "incident-plans/{incidentPlanId}/resources/{resourceId}/file",
} as const satisfies AidsOf;

/** Those of an incident. */
export const INCIDENT_AIDS = {
  list: "incidents/{incidentId}/resources",
  one: "incidents/{incidentId}/resources/{resourceId}",
  file: "incidents/{incidentId}/resources/{resourceId}/file",
} as const satisfies AidsOf;

interface AidsProps {
  of: AidsOf;
  params: RouteParams;
  /** Files and links may be added and taken away. */
  editable: boolean;
}

/** Files and links that people need, to be opened at once. */
export function Aids({ of, params, editable }: AidsProps) {
  const { t } = useTranslation();
  const aids = useRows<IncidentAidRow>(of.list, params, { limit: 100 });
  const rows = aids.data?.data ?? [];
  return (
    <div className="stack">
      <ErrorLine error={aids.error} />
      {aids.data && rows.length === 0 && <p className="soft">{t("aid.none")}</p>}
      <ul className="plain lined">
        {rows.map((row) => (
          <li key={row.id} className="row">
            <a className="grow" target="_blank" rel="noreferrer" href={addressFor(row, of, params)}>
              {row.name}
            </a>
            <span className="soft">{row.type === "file" ? sizeText(row.size) : t("aid.link")}</span>
            {editable && (
              <RemoveButton route={of.one} params={{ ...params, resourceId: row.id }} id={row.id} name={row.name} />
            )}
          </li>
        ))}
      </ul>
      {editable && (
        <details>
          <summary>{t("aid.add")}</summary>
          <AddAid of={of} params={params} />
        </details>
      )}
    </div>
  );
}

function addressFor(row: IncidentAidRow, of: AidsOf, params: RouteParams): string {
  return row.type === "hyperlink" ? (row.hyperlink ?? "") : routeUrl(of.file, { ...params, resourceId: row.id });
}

function AddAid({ of, params }: Pick<AidsProps, "of" | "params">) {
  const translator = useTranslation();
  const { t } = translator;
  const { client, notify } = useConsole();
  const [link, setLink] = useState({ name: "", hyperlink: "" });
  const resource = of.list.startsWith("incidents") ? "incident-resources" : "incident-plan-resources";
  const adding = useRowMutation<object, void>(resource, async (body) => {
    await client.post(of.list, params, body);
    setLink({ name: "", hyperlink: "" });
    notify(t("saved"));
  });
  const addFile = (file: File): void => {
    const form = new FormData();
    form.set("name", file.name.slice(0, 140));
    form.set("type", "file");
    form.set("file", file);
    adding.mutate(form);
  };
  const addLink = (event: FormEvent): void => {
    event.preventDefault();
    adding.mutate({ ...link, type: "hyperlink" });
  };
  return (
    <div className="stack">
      <DropZone label={t("aid.drop")} hint={t("aid.drop-hint")} busy={adding.isPending} onFile={addFile} />
      <form className="row end" onSubmit={addLink}>
        <TextInput
          className="grow"
          label={t("aid.link-name")}
          maxLength={140}
          value={link.name}
          error={fieldErrorText(adding.error, "name", translator)}
          onChange={(event) => setLink({ ...link, name: event.currentTarget.value })}
        />
        <TextInput
          className="grow"
          label={t("aid.address")}
          type="url"
          value={link.hyperlink}
          error={fieldErrorText(adding.error, "hyperlink", translator)}
          onChange={(event) => setLink({ ...link, hyperlink: event.currentTarget.value })}
        />
        <Button type="submit" variant="default" disabled={!link.name.trim() || !link.hyperlink.trim()}>
          {t("aid.add-link")}
        </Button>
      </form>
      <ErrorLine error={adding.error} />
    </div>
  );
}
