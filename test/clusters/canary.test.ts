import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { events, type KubeObject, namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import { issueCa, issueLeaf } from "../../src/kube/x509.ts";
import { addCanary, assertNowhere, newCanary } from "../../src/testing/canaries.ts";
import { kubectl, testNamespaces } from "../../src/testing/cluster.ts";
import { connectCluster, kubeconfigLike, rudeServer, writeKubeconfig } from "../../src/testing/connections.ts";
import {
  changeConfiguration,
  configuration,
  inlineCopyName,
  inlineName,
  inlineText,
  removeConfiguration,
  untilDefault,
} from "../../src/testing/defaults.ts";
import { metricsOf } from "../../src/testing/modes.ts";
import { at, configMaps, encoded } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { refuseSecrets } from "../../src/testing/refusals.ts";
import { createSecret, deleteSecret, patchSecret } from "../../src/testing/secrets.ts";
import { createPullSecret, dockerConfig, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import { TraceCollector } from "../../src/testing/traces.ts";
import {
  clusters,
  createUserNamespace,
  kubermaticConfigurations,
  serveCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";
import { createUser } from "../../src/testing/users.ts";
import { conditionIn, untilGone } from "../../src/testing/wait.ts";
import { kubeconfigOf } from "../../tools/local/certificates.ts";
import type { Operator } from "../../tools/local/operator.ts";

let operator: Operator;
let traces: TraceCollector | undefined;
const own = ownPlane(async (plane) => {
  await (await plane.kube).create(namespaceKind, { metadata: { name: "kubermatic" } });
  traces = await TraceCollector.start();
  operator = await plane.operator({ env: traces.env });
});
const user = userCluster();
after(() => traces?.[Symbol.asyncDispose]());

/** Everything that somebody may come to see, besides the Secrets themselves and the inline default in its own object. */
async function shown(): Promise<Readonly<Record<string, string>>> {
  const kube = await own.kube;
  const statuses = await Promise.all(
    [clusters, kubermaticConfigurations].map((kind) => kube.list<KubeObject & { status?: object }>(kind)),
  );
  const metadata = await Promise.all([kube, user.kube].map((each) => each.listMetadata(secrets)));
  // The annotation of kubectl repeats what its user applied.
  const marks = metadata.flat().map(({ metadata: { annotations = {}, ...rest } }) => {
    const { "kubectl.kubernetes.io/last-applied-configuration": _, ...own } = annotations;
    return { ...rest, annotations: own };
  });
  const { stdout, stderr } = await own.latchkey("status");
  return {
    log: await readFile(operator.logFile, "utf8"),
    metrics: await metricsOf(operator),
    events: JSON.stringify([await kube.list(events), await user.kube.list(events)]),
    statuses: JSON.stringify(statuses.flat().map(({ status }) => status)),
    secrets: JSON.stringify(marks),
    records: JSON.stringify(await user.kube.list(configMaps, { namespace: "kube-system" })),
    status: stdout + stderr,
  };
}

/** What a webhook that reads pull secrets would find fault with: first one value, then everything that was sent. */
const quoting = (object: KubeObject & { data?: Readonly<Record<string, string>> }) => {
  const plain = Buffer.from(object.data?.[".dockerconfigjson"] ?? "", "base64").toString();
  return `refused: ${plain} ${JSON.stringify(object)}`;
};

test("no value of a pull secret shows, at home or in a user cluster", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const source = `${namespaces[0]}/quay`;
  const name = literalName(source);
  const [canary, rotated, byHand, foreign] = [newCanary(), newCanary(), newCanary(), newCanary()];
  addCanary((parse(user.kubeconfig) as { users: { user: { token: string } }[] }).users[0]?.user.token ?? "");
  await createPullSecret(kube, source, canary);
  const [app, refused, taken] = [
    await createUserNamespace(t, user),
    await createUserNamespace(t, user),
    await createUserNamespace(t, user),
  ];
  await createSecret(user.kube, `${taken}/${name}`, { password: foreign });
  await refuseSecrets(t, user.kube, [refused], ({ object, username }) =>
    username.includes("latchkey") ? quoting(object) : undefined,
  );
  const { cluster } = await serveCluster(t, { user, references: [source] });
  const told = await untilCluster(kube, cluster.metadata.name, "PullSecretsReady", { reason: "TargetRefused" });
  assert.match(conditionIn(told, "PullSecretsReady")?.message ?? "", /\[redacted\]/);
  await untilPullSecret(user.kube, `${app}/${name}`, canary);

  await patchSecret(user.kube, `${app}/${name}`, { data: encoded(dockerConfig("robot", byHand)) });
  await untilPullSecret(user.kube, `${app}/${name}`, canary);
  await patchSecret(kube, source, { data: encoded(dockerConfig("robot", rotated)) });
  await untilPullSecret(user.kube, `${app}/${name}`, rotated);
  await deleteSecret(kube, source);
  await untilGone(user.kube, secrets, at(`${app}/${name}`));
  await createSecret(kube, source, { password: canary });
  await untilCluster(kube, cluster.metadata.name, "PullSecretsReady", { reason: "SourceTypeRejected" });
  assertNowhere(await shown());
});

test("no inline default shows, be it valid or spoiled", async (t) => {
  const kube = await own.kube;
  const key = "kubermatic/mine";
  const [first, second, spoiled, odd] = [newCanary(), newCanary(), newCanary(), newCanary()];
  const answers: string[] = [];
  t.after(() => removeConfiguration(kube, key));
  // As kubectl leaves it: with the whole text in an annotation.
  const apply = async (imagePullSecret: string) => {
    const input = JSON.stringify(configuration(key, { imagePullSecret }));
    const { code, stdout, stderr } = await kubectl(["apply", "-f", "-"], { input });
    assert.equal(code, 0, stderr);
    answers.push(stdout, stderr);
  };
  await apply(inlineText(first));
  const { cluster } = await serveCluster(t, { user });
  await untilPullSecret(user.kube, `default/${inlineCopyName}`, first);

  const texts: readonly (readonly [text: string, reason: string])[] = [
    [`{"auths": {"quay.io": {"password": "${spoiled}"},}}`, "MalformedJSON"],
    [`{"auths": {"quay.io": {"password": ${spoiled}}}}`, "MalformedJSON"],
    [spoiled, "MalformedJSON"],
    [`{"auths": "${odd}"}`, "NoAuths"],
    [`{"auths": {"${odd}": "${odd}"}}`, "NoAuths"],
    [`"${odd}"`, "NoAuths"],
  ];
  for (const [given, reason] of texts) {
    await apply(given);
    await untilDefault(kube, key, { status: "False", reason });
  }

  const refusal = await refuseSecrets(t, kube, ["kubermatic"], ({ object, username }) =>
    username.includes("latchkey") && object.metadata.name === inlineName ? quoting(object) : undefined,
  );
  await apply(inlineText(second));
  await untilDefault(kube, key, { status: "False", reason: "TargetRefused", message: /\[redacted\]/ });
  await refusal.stop();
  await untilPullSecret(user.kube, `default/${inlineCopyName}`, second);

  const writer = await createUser(t, {
    verbs: ["patch"],
    group: "kubermatic.k8c.io",
    resource: "kubermaticconfigurations",
  });
  const userCluster = { imagePullSecret: null, imagePullSecretRef: at(`kubermatic/${inlineName}`) };
  const keep = (error: Error) => answers.push(error.message) > 0;
  await assert.rejects(changeConfiguration(writer.kube, key, { userCluster }), keep);
  const tooLong = { imagePullSecret: "x".repeat(70_000) };
  await assert.rejects(changeConfiguration(kube, key, { userCluster: tooLong }), keep);
  await untilCluster(kube, cluster.metadata.name, "Ready", { status: "True" });
  assertNowhere({ ...(await shown()), answers: answers.join("\n") });
});

/** Says back what it was told, in every way that a server has. */
async function tellTale(t: TestContext) {
  const ca = await issueCa({ commonName: "somebody", days: 1 });
  const leaf = await issueLeaf(ca, { commonName: "somebody", ips: ["127.0.0.1"], usages: ["server"], days: 1 });
  const tale = { url: "", ca: ca.certificatePem, answer: "500", asked: 0 };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const said = `${JSON.stringify(request.headers)} ${await text(request)}`;
    tale.asked += 1;
    const code = Number.parseInt(tale.answer, 10);
    const status = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason: "Expired", message: said };
    const body = tale.answer.endsWith("text") ? said : JSON.stringify(status);
    response.writeHead(code, said.replaceAll(/[^ -~]/g, "").slice(0, 500), { "x-said": said }).end(body);
  };
  const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  tale.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return tale;
}

test("nothing of a kubeconfig shows, however it fails", async (t) => {
  const [token, password, inUrl, inProxy, broken] = [newCanary(), newCanary(), newCanary(), newCanary(), newCanary()];
  const tale = await tellTale(t);
  const rude = await rudeServer(t);
  const usable = kubeconfigOf(tale.url, tale.ca, "somebody", { token });
  const { kube, name, kubeconfig } = await connectCluster(t, usable);
  const fails = async (given: string, reason: string) => {
    await patchSecret(kube, kubeconfig, { data: { kubeconfig: null } });
    await untilCluster(kube, name, "Reachable", { status: "False", reason: "KubeconfigMissing" });
    await writeKubeconfig(kube, kubeconfig, given);
    await untilCluster(kube, name, "Reachable", { status: "False", reason });
  };

  for (const answer of ["500", "500 text", "403", "403 text", "200 text", "429", "404 text", "302 text"]) {
    await writeKubeconfig(kube, kubeconfig, kubeconfigLike(usable, { whole: { answer } }));
    Object.assign(tale, { answer, asked: 0 });
    for (const deadline = performance.now() + 60_000; tale.asked === 0; await sleep(20)) {
      assert.ok(performance.now() < deadline, "it is asked");
    }
  }
  for (const answer of ["401", "401 text"]) {
    tale.answer = answer;
    await fails(usable, "Unauthorized");
  }
  tale.answer = "500";
  const refused: readonly string[] = [
    `${usable}\n  : [${broken}`,
    `"${broken}`,
    broken,
    kubeconfigLike(usable, {
      user: { exec: { command: broken, args: [broken], env: [{ name: "A", value: broken }] } },
    }),
    kubeconfigLike(usable, { user: { "auth-provider": { name: "x", config: { "access-token": broken } } } }),
    kubeconfigLike(usable, { user: { tokenFile: `/tmp/${broken}` } }),
    kubeconfigLike(usable, { user: { "client-certificate-data": broken, "client-key-data": broken } }),
    kubeconfigLike(usable, { cluster: { "certificate-authority-data": broken } }),
    kubeconfigLike(usable, { cluster: { server: broken } }),
    kubeconfigLike(usable, { cluster: { "proxy-url": `ftp://a:${broken}@127.0.0.1` } }),
  ];
  for (const each of refused) await fails(each, "KubeconfigRefused");
  const dead = "https://127.0.0.1:1";
  const rudely = `http://a:${inProxy}@127.0.0.1:${rude.port}`;
  for (const each of [
    kubeconfigLike(usable, { user: { token: undefined, username: "a", password } }),
    kubeconfigLike(usable, { cluster: { server: dead.replace("//", `//a:${inUrl}@`) } }),
    kubeconfigLike(usable, { cluster: { server: `${dead}/?token=${inUrl}` } }),
    kubeconfigLike(usable, { cluster: { "proxy-url": rudely } }),
    kubeconfigLike(usable, { cluster: { "proxy-url": `http://a:${inProxy}@127.0.0.1:1` } }),
  ]) {
    await fails(each, "Unreachable");
  }
  assertNowhere(await shown());
});

test("nothing of all that shows in traces", async () => {
  await operator.stop();
  const sent = traces?.received.join("\n") ?? "";
  for (const span of ["clusters.pass", "connect", "resolve", "inject", "copies"]) {
    assert.ok(sent.includes(`"name":"${span}"`), `there is a span ${span}`);
  }
  assertNowhere({ traces: sent, log: await readFile(operator.logFile, "utf8") });
});
