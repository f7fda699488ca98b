import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { CallerError } from "../../../../lib/errors.ts";
import type { NotificationRow } from "../../api/rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { useSound } from "../../ui/use-sound.ts";

/** Plays in the browser all that a message sounds: tone, recording or speech, as devices hear it. */
export function ListenButton({ messageTemplateId, name }: { messageTemplateId: string; name: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const { play, stop, isPlaying } = useSound();
  const loading = useMutation({
    // What a message would sound is made of a draft of it, which is removed again.
    async mutationFn(): Promise<Blob | null> {
      const { id } = await client.post<NotificationRow>("notifications", {}, { messageTemplateId, draft: true });
      const params = { notificationId: id };
      try {
        return await client.bytes("notifications/{notificationId}/audio", params, { form: "programme" });
      } catch (error) {
        if (error instanceof CallerError && error.type === "not-found") return null;
        throw error;
      } finally {
        await client.remove("notifications/{notificationId}", params);
      }
    },
    onSuccess: (sound) => (sound ? play(sound) : notify(t("ring.silent", { name }))),
  });
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        loading={loading.isPending}
        aria-label={t(isPlaying ? "ring.stop-listening" : "ring.listen-to", { name })}
        onClick={() => (isPlaying ? stop() : loading.mutate())}
      >
        {t(isPlaying ? "ring.stop-sound" : "ring.listen")}
      </Button>
      <ErrorLine error={loading.error} />
    </>
  );
}
