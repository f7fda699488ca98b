import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { ROUTES, type RouteFor } from "../api/routes.ts";
import { useRowMutation, useSchemas } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { ErrorLine } from "./error-line.tsx";
import { Form } from "./form/form.tsx";
import { type FieldOverrides, formFields } from "./form/form-fields.ts";
import { OneTimeSecret } from "./one-time-secret.tsx";
import { SideSheet } from "./side-sheet.tsx";

interface NewSecretRowProps<T> {
  route: RouteFor<"post">;
  title: string;
  fields: readonly FieldOverrides[];
  /** Fields of every new row that are not in the form. */
  fixed?: Readonly<Record<string, unknown>>;
  onClose(): void;
  /** What the answer tells once. */
  made(row: T): ReactNode;
}

/** Creates a row whose secret is only in the response: the sheet stays open until the user has copied it. */
export function NewSecretRow<T extends { name: string }>(props: NewSecretRowProps<T>) {
  const { route, title, fields, fixed, onClose, made } = props;
  const { client } = useConsole();
  const schemas = useSchemas();
  const { resource } = ROUTES[route];
  const make = useRowMutation(resource, (body: Record<string, unknown>) =>
    client.post<T>(route, {}, { ...fixed, ...body }),
  );
  return (
    <SideSheet title={make.data?.name ?? title} onClose={onClose}>
      {make.data ? (
        made(make.data)
      ) : (
        <>
          <ErrorLine error={schemas.error} />
          {schemas.data && (
            <Form
              fields={formFields(schemas.data.resources[resource]?.schema, fields)}
              before={{}}
              pending={make.isPending}
              error={make.error}
              onSave={(body) => make.mutate(body)}
            />
          )}
        </>
      )}
    </SideSheet>
  );
}

interface RotationProps {
  resource: string;
  /** What the secret is called. */
  label: string;
  words: { ask: string; really: string };
  /** The former secret is refused at once, so the second press is red. */
  isSharp: boolean;
  /** Gives the new secret. */
  rotate(): Promise<string>;
}

/** Creates a new secret at the second press, and shows it once. */
export function SecretRotation({ resource, label, words, isSharp, rotate }: RotationProps) {
  const [armed, setArmed] = useState(false);
  const rotation = useRowMutation<void, string>(resource, () => {
    setArmed(false);
    return rotate();
  });
  return (
    <>
      {rotation.data ? (
        <OneTimeSecret label={label} value={rotation.data} onKept={() => rotation.reset()} />
      ) : (
        <div>
          <Button
            variant={armed ? "filled" : "default"}
            {...(armed && isSharp ? { color: "red" } : {})}
            loading={rotation.isPending}
            onBlur={() => setArmed(false)}
            onClick={() => (armed ? rotation.mutate() : setArmed(true))}
          >
            {armed ? words.really : words.ask}
          </Button>
        </div>
      )}
      <ErrorLine error={rotation.error} />
    </>
  );
}
