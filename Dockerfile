# Bundles the program, then leaves everything behind but the bundle and Node.
FROM node:24-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json ./
COPY tools/build.ts tools/build.ts
COPY src src
RUN npm run build

FROM node:24-slim
LABEL org.opencontainers.image.title="latchkey" org.opencontainers.image.licenses="Apache-2.0"
COPY LICENSE /app/LICENSE
COPY --from=build /src/dist /app
USER 65532:65532
EXPOSE 8080 9443
# A small young generation: less memory, and less work for the garbage collector.
ENTRYPOINT ["node", "--max-semi-space-size=2", "/app/latchkey.js"]
CMD ["run"]
