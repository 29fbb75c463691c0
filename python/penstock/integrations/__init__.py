"""The gate where answers of models pass already: LiteLLM, ASGI, the SDKs' own clients, mitmproxy.

Each module needs its library, and says so in one line where that is missing; none is imported by `penstock` itself.
"""
