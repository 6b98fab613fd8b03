"""aiohttp: coroutines, a middleware, and C extensions that call back."""

import asyncio
import logging
import signal
import sys

from aiohttp import web
from answers import NotThereError, answer

logging.disable(logging.CRITICAL)


@web.middleware
async def errors(request, handler):
    try:
        return await handler(request)
    except NotThereError as error:
        return web.Response(status=404, text=str(error))


async def reply(request):
    body = await request.read()
    await asyncio.sleep(0)
    return web.Response(body=answer(request.path, body))


async def main():
    app = web.Application(middlewares=[errors])
    app.router.add_route("*", "/{path:.*}", reply)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await stop.wait()
    await runner.cleanup()


asyncio.run(main())
print("stopped")
sys.exit(5)
