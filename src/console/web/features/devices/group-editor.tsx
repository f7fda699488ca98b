import { Button, Textarea, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import type { VersionedRow } from "../../api/client.ts";
import type { DeviceRow, GroupRow } from "../../api/rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useVersionedRow } from "../../api/versioned-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { NEW } from "../../ui/row-sheet.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { useRemoval } from "../../ui/use-removal.ts";
import { useUnsavedChanges } from "../../ui/use-unsaved-changes.tsx";
import { type GroupDraft, groupBodyOf, groupDraftOf, isGroupComplete } from "./group-definition.ts";
import { GroupFilterRow } from "./group-filter-row.tsx";
import "../../ui/input-styles.ts";

/** A group's rule, with the devices it chooses counted while it is edited. */
export function GroupEditor({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation();
  const isNew = id === NEW;
  const { data, error } = useVersionedRow<GroupRow>(
    "device-groups/{deviceGroupId}",
    { deviceGroupId: id },
    { enabled: !isNew },
  );
  const ready = isNew || data?.row.id === id;
  return (
    <SideSheet title={isNew ? t("groups.add") : (data?.row.name ?? "")} onClose={onClose}>
      <ErrorLine error={error} />
      {ready && <Editor read={isNew ? null : (data ?? null)} onClose={onClose} />}
    </SideSheet>
  );
}

function Editor({ read, onClose }: { read: VersionedRow<GroupRow> | null; onClose: () => void }) {
  const group = read?.row ?? null;
  /** The group as the draft began from it: who changes it meanwhile is not overruled. */
  const [version] = useState(read?.version ?? null);
  const translator = useTranslation();
  const { t } = translator;
  const { client, notify } = useConsole();
  const [draft, setDraft] = useState<GroupDraft>(() => groupDraftOf(group));
  const change = (part: Partial<GroupDraft>) => setDraft((old) => ({ ...old, ...part }));
  const params = { deviceGroupId: group?.id ?? "" };
  const saving = useRowMutation<void, void>("device-groups", async () => {
    if (group) await client.put("device-groups/{deviceGroupId}", params, groupBodyOf(draft), {}, version);
    else await client.post("device-groups", {}, groupBodyOf(draft));
    notify(t("saved"));
    onClose();
  });
  const removeSoon = useRemoval("device-groups/{deviceGroupId}");
  const remove = () => {
    void removeSoon({ id: group?.id ?? "", name: group?.name ?? "", params });
    onClose();
  };
  const isTouched = JSON.stringify(draft) !== JSON.stringify(groupDraftOf(group));
  const unsaved = useUnsavedChanges(isTouched && !saving.isPending && !saving.isSuccess);
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        saving.mutate();
      }}
    >
      <TextInput
        label={t("field.name")}
        data-autofocus={group === null || undefined}
        required
        maxLength={140}
        value={draft.name}
        error={fieldErrorText(saving.error, "name", translator)}
        onChange={(event) => change({ name: event.currentTarget.value })}
      />
      <MemberCount draft={draft} />
      <GroupFilterRow draft={draft} onChange={change} />
      <Textarea
        label={t("field.additionIds")}
        description={t("groups.ids-hint")}
        autosize
        value={draft.additionIds.join("\n")}
        onChange={(event) => change({ additionIds: event.currentTarget.value.split("\n") })}
      />
      <Textarea
        label={t("field.exclusionIds")}
        description={t("groups.ids-hint")}
        autosize
        value={draft.exclusionIds.join("\n")}
        onChange={(event) => change({ exclusionIds: event.currentTarget.value.split("\n") })}
      />
      {unsaved}
      <ErrorLine error={saving.error} />
      <div className="savebar">
        <Button type="submit" loading={saving.isPending} disabled={!isGroupComplete(draft) || draft.name.trim() === ""}>
          {t("save")}
        </Button>
        {group?.permissions.includes("delete") && (
          <Button variant="default" c="var(--bad)" ml="auto" onClick={remove}>
            {t("remove")}
          </Button>
        )}
      </div>
    </form>
  );
}

const PAUSE_MS = 400;

function MemberCount({ draft }: { draft: GroupDraft }) {
  const { t } = useTranslation();
  const { clock } = useConsole();
  const { name: _, ...rule } = groupBodyOf(draft);
  const wanted = isGroupComplete(draft) ? JSON.stringify(rule) : null;
  const [asked, setAsked] = useState(wanted);
  useEffect(() => {
    const timer = clock.after(PAUSE_MS, () => setAsked(wanted));
    return () => timer.cancel();
  }, [clock, wanted]);
  const members = useRows<DeviceRow>(
    "devices",
    {},
    { deviceGroup: asked ?? "", limit: 5 },
    { enabled: asked !== null },
  );
  return (
    <div className="card" aria-live="polite">
      <p>
        <span className="figure">{asked === null ? "–" : (members.data?.total ?? "–")}</span> {t("groups.members")}
      </p>
      <ErrorLine error={members.error} />
      {asked !== null && (
        <p className="soft">
          {members.data?.data.map(({ description }) => description).join(", ")}
          {(members.data?.total ?? 0) > 5 && " …"}
        </p>
      )}
    </div>
  );
}
