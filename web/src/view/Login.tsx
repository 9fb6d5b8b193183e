import { type FormEvent, type ReactElement, useEffect, useState } from "react";
import { sendCredentials } from "../net/client.ts";
import { studio, useStudio } from "../state/store.ts";
import { useStrings } from "./strings.ts";

/** How this browser can get in: by the address that the studio printed alone, or by its password too. */
type Entry = "address" | "password";

/** How to get in if the server rejects this browser (401), which is tested when there is no connection; else null. */
export function useEntry(): Entry | null {
  const connection = useStudio((state) => state.connection);
  const [entry, setEntry] = useState<Entry | null>(null);
  useEffect(() => {
    if (connection === "open") setEntry(null);
    else if (connection === "lost")
      void fetch("./api/").then(
        ({ status, headers }) => {
          const asked = headers.get("www-authenticate") === "password" ? "password" : "address";
          setEntry(status === 401 ? asked : null);
        },
        () => {},
      );
  }, [connection]);
  return entry;
}

/** The page that is shown instead of the studio until the browser is authorized. */
export function LoginPage({ entry }: { entry: Entry }): ReactElement {
  const t = useStrings();
  return (
    <main className="workplace">
      <div className="gallery">
        <div className="gallery-inner">
          <h1>{t.loginTitle}</h1>
          <p className="lead">{entry === "password" ? t.loginAbout : t.addressAbout}</p>
          {entry === "password" ? <PasswordForm /> : <AddressHelp />}
        </div>
      </div>
    </main>
  );
}

/** Where the address is found, without which nobody gets in. */
function AddressHelp(): ReactElement {
  const t = useStrings();
  return (
    <>
      <p>{t.addressLooks}</p>
      <p className="mono">{`${window.location.origin}/#token=…`}</p>
      <p>{t.addressLost}</p>
    </>
  );
}

/** The banner of a tab whose session has expired because the server was restarted. */
export function SessionExpired({ entry }: { entry: Entry }): ReactElement {
  const t = useStrings();
  const [asking, setAsking] = useState(false);
  return (
    <div className="banner" role="alert">
      <span>{t.sessionExpired}</span>
      {entry === "address" ? null : asking ? (
        <PasswordForm />
      ) : (
        <button type="button" className="button" onClick={() => setAsking(true)}>
          {t.typePassword}
        </button>
      )}
    </div>
  );
}

function PasswordForm(): ReactElement {
  const t = useStrings();
  const [password, setPassword] = useState("");
  const [wrong, setWrong] = useState(false);
  async function enter(event: FormEvent) {
    event.preventDefault();
    const entered = await sendCredentials({ password });
    setWrong(!entered);
    if (entered) studio.retry();
  }
  return (
    <form onSubmit={(event) => void enter(event)}>
      <label htmlFor="password">{t.password}</label>
      <div className="gallery-actions">
        <input
          id="password"
          className="field password"
          type="password"
          autoComplete="current-password"
          aria-invalid={wrong}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <button type="submit" className="button main">
          {t.enter}
        </button>
      </div>
      {wrong && (
        <p className="bad" role="alert">
          {t.wrongPassword}
        </p>
      )}
    </form>
  );
}
