// A certified OpenID Connect provider with one client. It prints its issuer, and signs in whoever
// gives a name of `people`.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const given = JSON.parse(process.argv[2]);
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: given.client,
        client_secret: given.secret,
        redirect_uris: given.redirects,
        post_logout_redirect_uris: given.afterSignOut,
      },
    ],
    cookies: { keys: ["only of a test"] },
    pkce: { required: () => true },
    claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
    findAccount: (_context, name) =>
      given.people[name] && {
        accountId: name,
        claims: () => ({ sub: name, ...given.people[name] }),
      },
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
