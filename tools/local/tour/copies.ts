import type { Guide } from "./guide.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const passwordOf = 'go-template={{.data.password | base64decode}}{{"\\n"}}';

/** One Secret in other places. */
export async function showCopies({ tell, show, until }: Guide): Promise<void> {
  tell("1. A Secret is in one namespace and is needed in three others.");
  await show("apply", "-f", "examples/tour/1-source.yaml");

  tell("2. A SecretSync asks for the three copies. They arrive.");
  await show("apply", "-f", "examples/tour/2-secretsync.yaml");
  await until("--for=condition=Sync", "secretsync/tour-db-login");
  await show("get", "secretsync", "tour-db-login");
  await show("get", "secrets", "-A", "--field-selector=metadata.name=db-login");

  tell("3. Somebody edits a copy by hand. It is restored at once.");
  const edit = JSON.stringify({ stringData: { password: "edited by hand" } });
  await show("patch", "secret", "db-login", "-n", "tour-anna", "--type=merge", "-p", edit);
  await until(`--for=jsonpath={.data.password}=${base64("correct horse")}`, "secret/db-login", "-n", "tour-anna");
  await show("get", "secret", "db-login", "-n", "tour-anna", "-o", passwordOf);

  tell(
    "4. Another SecretSync wants a place where a Secret of Anna's is already. What is not Latchkey's is never touched:",
    "   the place is reported, and the other copy is made all the same.",
  );
  await show("apply", "-f", "examples/tour/3-collision.yaml");
  await until("--for=jsonpath={.status.conditions[0].reason}=Conflict", "secretsync/tour-mail-login");
  await show("get", "secretsync", "tour-mail-login", "-o", "wide");
  await show("get", "secretsync", "tour-mail-login", "-o", 'jsonpath={.status.conditions[0].message}{"\\n"}');
  await show("get", "secret", "mail-login", "-n", "tour-anna", "-o", passwordOf);

  tell("   Anna deletes hers: the copy takes the place, and nobody has to ask again.");
  await show("delete", "secret", "mail-login", "-n", "tour-anna");
  await until("--for=condition=Sync", "secretsync/tour-mail-login");
  await show("get", "secretsync", "tour-mail-login", "-o", "wide");
  await show("get", "secret", "mail-login", "-n", "tour-anna", "-o", passwordOf);

  tell("5. The first SecretSync is deleted. Its copies go with it, the source stays.");
  await show("delete", "secretsync", "tour-db-login");
  await show("get", "secrets", "-A", "--field-selector=metadata.name=db-login");
}
