"""Finds out who makes a request, or why nobody is let in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import time

from wigwag.errors import InvalidToken, VerifierUnavailable
from wigwag.oauth.access_tokens import MAX_LEEWAY
from wigwag.oauth.challenge_writing import write_challenges
from wigwag.oauth.credentials import (
    MAX_TOKEN_CHARACTERS,
    Credentials,
    Scheme,
    has_token_in_query,
    read_credentials,
)
from wigwag.oauth.proofs import InvalidProof
from wigwag.oauth.scopes import Scopes
from wigwag.oauth.secret import Secret
from wigwag.server.authorization.contract import TokenVerifier, VerifiedToken
from wigwag.server.authorization.proof_checking import NonceDemanded, ProofChecker
from wigwag.server.authorization.refusals import AuthenticationRefused
from wigwag.server.authorization.verified_tokens import VerifiedTokens

__all__ = ["Authenticator"]


class Authenticator:
    """Asks the verifiers of a server about the token of a request; the log is left to the caller.

    Args:
        verifiers: They are asked in this order, until one says that the token is its own.
        verified: Where good tokens are remembered.
        proofs: Checks what comes with tokens that are bound to keys.
        clock: Tells the time in seconds since 1970.
    """

    def __init__(
        self,
        verifiers: Sequence[TokenVerifier],
        *,
        verified: VerifiedTokens | None = None,
        proofs: ProofChecker | None = None,
        clock: Callable[[], float] = time,
    ) -> None:
        self._verifiers = tuple(verifiers)
        self._verified = VerifiedTokens(clock=clock) if verified is None else verified
        self._proofs = ProofChecker(clock=clock) if proofs is None else proofs
        self._clock = clock

    async def authenticate(
        self,
        authorization: Sequence[str],
        proofs: Sequence[str],
        method: str,
        url: str,
        resource: str,
        *,
        query: str = "",
    ) -> VerifiedToken:
        """Return what the token of a request says.

        Args:
            authorization: The lines of its `Authorization` header.
            proofs: The lines of its `DPoP` header.
            method: Its method.
            url: Its URL as the client sees it, which proofs name.
            resource: The URI of this server, which tokens must be meant for.
            query: What stands behind the `?` of the URL.

        Raises:
            AuthenticationRefused: Nobody is let in; `response_headers` has what to answer.
        """
        known = self._recognise(authorization, resource) if not query else None
        if known is not None:
            return known
        try:
            if query and has_token_in_query(query):
                raise ValueError("a token in the URL is not accepted: use the Authorization header")
            credentials = read_credentials(authorization)
        except ValueError as error:
            raise AuthenticationRefused(400, "invalid_request", str(error)) from None
        if credentials is None:
            raise AuthenticationRefused(401, reason="there is no token")
        try:
            verified = await self._verify(credentials.token, resource)
            await self._check_binding(credentials, verified, proofs, method, url)
        except InvalidToken as error:
            raise AuthenticationRefused(
                401,
                "invalid_token",
                error.description,
                reason=error.reason,
                used=credentials.scheme,
            ) from None
        except InvalidProof as error:
            raise AuthenticationRefused(
                401, "invalid_dpop_proof", str(error), used=credentials.scheme
            ) from None
        except NonceDemanded as error:
            raise AuthenticationRefused(
                401, "use_dpop_nonce", str(error), used=credentials.scheme, nonce=error.nonce
            ) from None
        except VerifierUnavailable as error:
            raise AuthenticationRefused(
                503,
                description="tokens cannot be verified at the moment",
                reason=error.reason,
                retry_after=error.retry_after,
            ) from error
        return verified

    def _recognise(self, authorization: Sequence[str], resource: str) -> VerifiedToken | None:
        """Return what is known of a token that is sent as usual; it was read strictly before."""
        if self._proofs.rules.required or len(authorization) != 1:
            return None
        line = authorization[0]
        if not line.startswith("Bearer ") or not line.isascii():
            return None
        known = self._verified.get(line[7:], resource)
        return known if known is not None and known.key_thumbprint is None else None

    async def _verify(self, token: Secret, resource: str) -> VerifiedToken:
        text = token.reveal()
        known = self._verified.get(text, resource)
        if known is not None:
            return known
        if len(text) > MAX_TOKEN_CHARACTERS:
            raise InvalidToken(f"it has more than {MAX_TOKEN_CHARACTERS} characters")
        unavailable: VerifierUnavailable | None = None
        for verifier in self._verifiers:
            try:
                verified = await verifier.verify(token, resource)
            except VerifierUnavailable as error:
                # Another one may know the token: one that is away must not shut out everybody.
                unavailable = unavailable or error
                continue
            if verified is None:
                continue
            # What a verifier forgives, it has looked at.
            if (
                verified.expires_at is not None
                and verified.expires_at <= self._clock() - MAX_LEEWAY
            ):
                raise InvalidToken("it has expired", "the token has expired")
            self._verified.add(text, resource, verified)
            return verified
        if unavailable is not None:
            raise unavailable
        raise InvalidToken(
            "no verifier knows it: it is of another issuer, expired, revoked or made up"
        )

    async def _check_binding(
        self,
        credentials: Credentials,
        verified: VerifiedToken,
        proofs: Sequence[str],
        method: str,
        url: str,
    ) -> None:
        thumbprint = verified.key_thumbprint
        if thumbprint is None:
            if credentials.scheme == "DPoP":
                raise InvalidToken(
                    "it is not bound to a key, and was sent as if it were",
                    "the token is not bound to a key: send it as Bearer",
                )
            if self._proofs.rules.required:
                raise InvalidToken("it is not bound to a key", "the token must be bound to a key")
            return
        if credentials.scheme != "DPoP":
            raise AuthenticationRefused(
                401,
                "invalid_token",
                "the token is bound to a key: send it as DPoP, with a proof",
                used="DPoP",  # as it should have been: the challenge says how
            )
        await self._proofs.check(
            proofs, method=method, url=url, token=credentials.token, key_thumbprint=thumbprint
        )

    async def aclose(self) -> None:
        """Break off whatever the verifiers are doing for requests that are no longer served."""
        for verifier in self._verifiers:
            close = getattr(verifier, "aclose", None)
            if close is not None:
                await close()

    def success_headers(self, proofs: Sequence[str]) -> list[tuple[str, str]]:
        """Return headers for the answer to a request that was let in: a nonce, now and then.

        Args:
            proofs: The lines of its `DPoP` header.
        """
        nonce = self._proofs.next_nonce(proofs) if proofs else None
        return [] if nonce is None else [("dpop-nonce", nonce)]

    def response_headers(
        self,
        refusal: AuthenticationRefused,
        *,
        resource_metadata: str | None = None,
        scopes: Scopes = (),
    ) -> list[tuple[str, str]]:
        """Return the headers of the answer to a request that is not let in.

        Args:
            refusal: Why it is not.
            resource_metadata: The URL of the metadata of this server.
            scopes: What the request needs.
        """
        headers = [("cache-control", "no-store")]
        if refusal.retry_after is not None:
            headers.append(("retry-after", str(max(1, round(refusal.retry_after)))))
        if refusal.status == 503:
            return headers
        if refusal.nonce is not None:
            headers.append(("dpop-nonce", refusal.nonce))
        headers += [
            ("www-authenticate", line)
            for line in self.challenges(
                resource_metadata=resource_metadata,
                scopes=scopes,
                error=refusal.error,
                error_description=refusal.description,
                used=refusal.used,
            )
        ]
        return headers

    def challenges(
        self,
        *,
        resource_metadata: str | None = None,
        scopes: Scopes = (),
        error: str | None = None,
        error_description: str | None = None,
        used: Scheme | None = None,
    ) -> tuple[str, ...]:
        """Return the values of `WWW-Authenticate`, a line each; for a 403 too.

        Args:
            resource_metadata: The URL of the metadata of this server.
            scopes: What the request needs: all of it.
            error: For a 403, `insufficient_scope`.
            error_description: The same in words.
            used: How the token was sent.
        """
        rules = self._proofs.rules
        schemes: list[Scheme] = ["DPoP"] if rules.required else ["Bearer"]
        # Who knows nothing of proofs need not read of them; who does finds them in the metadata.
        if used == "DPoP" and not rules.required:
            schemes.append("DPoP")
        return write_challenges(
            schemes,
            resource_metadata=resource_metadata,
            scopes=scopes,
            error=error,
            error_description=error_description,
            used=used,
            algorithms=rules.algorithms,
        )
