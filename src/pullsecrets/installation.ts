import { namespaces } from "../api/objects.ts";
import type { Call, Kube } from "../kube/client.ts";
import { type Option, type Settings, text } from "../options.ts";
import type { Owner } from "../ownership/holder.ts";

const valuePattern = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

export const installationId: Option<string | undefined> = {
  ...text({
    name: "installation-id",
    value: "<id>",
    about: "what copies that the whole installation shares say about their owner; to be kept when a cluster is rebuilt",
    fallback: undefined,
    fallbackText: "the UID of the Namespace kube-system",
  }),
  parse(given) {
    if (!valuePattern.test(given)) throw new Error(`${JSON.stringify(given)} is not the value of a label`);
    return given;
  },
};

/** The owner of copies that are shared: no object, so it has no reference to put on them. */
export async function openInstallation(kube: Kube, settings: Settings, call: Call): Promise<Owner> {
  const uid = settings.get(installationId) ?? (await uidOfHome(kube, call));
  return { uid, title: "Installation", isInstallation: true };
}

async function uidOfHome(kube: Kube, call: Call): Promise<string> {
  const home = await kube.getMetadata(namespaces, { name: "kube-system" }, call);
  if (!home)
    throw new Error(`this cluster has no Namespace kube-system: name the installation by --${installationId.name}`);
  return home.metadata.uid;
}
