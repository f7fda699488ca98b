import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { hasPasskeys, type RequestOptions, signWithPasskey } from "./passkeys.ts";

interface PasskeyButtonProps {
  /** Reads the options for the browser. */
  options(): Promise<RequestOptions>;
  /** Sends the signature. */
  submit(passkey: object): Promise<void>;
  onDone(): void;
}

/** Signs with a passkey; nothing where the browser has none. */
export function PasskeyButton({ options, submit, onDone }: PasskeyButtonProps) {
  const { t } = useTranslation();
  const sign = useMutation({
    mutationFn: async (): Promise<MessageKey | null> => {
      const passkey = await signWithPasskey(await options());
      if (passkey === null) return "passkey.cancelled";
      await submit(passkey);
      return null;
    },
    onSuccess: (problem) => problem === null && onDone(),
  });
  if (!hasPasskeys()) return null;
  const problem = sign.isError ? "passkey.refused" : sign.data;
  return (
    <>
      <Button variant="default" loading={sign.isPending} onClick={() => sign.mutate()}>
        {t("passkey.use")}
      </Button>
      {problem && (
        <p className="fault" role="alert">
          {t(problem)}
        </p>
      )}
    </>
  );
}
