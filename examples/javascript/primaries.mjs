#!/usr/bin/env node
// Go straight to a primary of a key: fetch the map, hash, ask, follow changes. Node.js 18 or later,
// nothing else.
//
//   primaries.mjs http://127.0.0.1:8098         stores and reads 100 objects, says where they went
//   primaries.mjs --check client-side-hashing-vectors.json
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const RING_TOP = 2n ** 160n
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const any = (list) => list[Math.floor(Math.random() * list.length)]

function binary(data) {
  const head = Buffer.alloc(5)
  head[0] = 0x6d
  head.writeUInt32BE(data.length, 1)
  return Buffer.concat([head, data])
}

// SHA-1 of Erlang's external term format of what Riak hashes, as a BigInt: a Number would lose
// digits.
export function keyHash(type, bucket, key, keyfun = 'std') {
  const pair = Buffer.from([0x68, 2])
  const name = type.equals(Buffer.from('default'))
    ? binary(bucket)
    : Buffer.concat([pair, binary(type), binary(bucket)])
  const term = keyfun === 'bucketonly' ? name : Buffer.concat([pair, name, binary(key)])
  return BigInt(
    '0x' +
      createHash('sha1')
        .update(Buffer.from([0x83]))
        .update(term)
        .digest('hex')
  )
}

export function positions(hash, ringSize, nVal) {
  const first = Number(hash / (RING_TOP / BigInt(ringSize))) + 1
  return Array.from({ length: nVal }, (_, step) => (first + step) % ringSize)
}

// Percent notation of bytes, so that any key fits into a path.
const segment = (bytes) =>
  [...bytes]
    .map((b) =>
      /[A-Za-z0-9_-]/.test(String.fromCharCode(b))
        ? String.fromCharCode(b)
        : '%' + b.toString(16).padStart(2, '0')
    )
    .join('')

export class Cluster {
  properties = new Map()

  static async connect(seed) {
    const cluster = new Cluster()
    cluster.takeIn(await cluster.topology(seed))
    return cluster
  }

  // ---- the map ----

  async topology(base, since) {
    const answer = await fetch(
      `${base}/explore/clusters/default/topology${since ? `?from=${since}` : ''}`
    )
    if (answer.status !== 200)
      throw new Error(`${base} answers ${answer.status}: is Ringtail started there?`)
    return answer.json()
  }

  takeIn(document) {
    if (document.full) {
      this.members = new Map(document.members.map((member) => [member.uuid, member]))
      this.owners = new Map(Object.entries(document.owners))
    } else {
      for (const uuid of document.left) this.members.delete(uuid)
      for (const member of [...document.changed, ...document.joined])
        this.members.set(member.uuid, member)
      for (const [index, owner] of Object.entries(document.owners)) this.owners.set(index, owner)
    }
    this.token = document.token
    this.ringSize = document.ring_size
    this.up = new Set(document.up)
  }

  base(uuid) {
    const endpoint = this.members.get(uuid)?.endpoints.find((e) => e.protocol === 'http')
    if (!endpoint) return undefined
    const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host
    return `http://${host}:${endpoint.port}`
  }

  // One refresh in flight, however many requests ask for it.
  refresh() {
    this.refreshing ??= this.refreshNow().finally(() => (this.refreshing = undefined))
    return this.refreshing
  }

  async refreshNow() {
    for (const uuid of [...this.members.keys()].sort(() => Math.random() - 0.5)) {
      if (!this.base(uuid)) continue
      try {
        return this.takeIn(await this.topology(this.base(uuid), this.token))
      } catch {
        continue
      }
    }
    throw new Error('no known node answers; start again from the seeds')
  }

  // ---- a key ----

  async primaries(type, bucket, key) {
    const { nVal, keyfun } = await this.bucketProperties(type, bucket)
    const increment = RING_TOP / BigInt(this.ringSize)
    const owners = positions(keyHash(type, bucket, key, keyfun), this.ringSize, nVal).map((p) =>
      this.owners.get(String(BigInt(p) * increment))
    )
    return [...new Set(owners)]
  }

  async bucketProperties(type, bucket) {
    const name = `${segment(type)}/${segment(bucket)}`
    const kept = this.properties.get(name)
    if (kept && kept.until > Date.now()) return kept
    const base = this.base(any([...this.up].filter((uuid) => this.base(uuid))))
    const { props } = await (
      await fetch(`${base}/types/${segment(type)}/buckets/${segment(bucket)}/props`)
    ).json()
    const keyfun = { chash_std_keyfun: 'std', chash_bucketonly_keyfun: 'bucketonly' }[
      props.chash_keyfun.fun
    ]
    if (!keyfun)
      throw new Error(
        `${props.chash_keyfun.fun} runs on Riak's nodes only: ask any of them, with route=proxy`
      )
    const fresh = { until: Date.now() + 60_000, nVal: props.n_val, keyfun }
    this.properties.set(name, fresh)
    return fresh
  }

  async request(method, type, bucket, key, body, headers = {}) {
    const within = `types/${segment(type)}/buckets/${segment(bucket)}/keys/${segment(key)}`
    const path = `/riak/primary/clusters/default/${within}`
    for (let tries = 0; tries < 5; tries++) {
      const choice = (await this.primaries(type, bucket, key)).filter(
        (uuid) => this.up.has(uuid) && this.base(uuid)
      )
      if (choice.length === 0) {
        await pause(500)
        await this.refresh()
        continue
      }
      const uuid = any(choice)
      let answer
      try {
        answer = await fetch(this.base(uuid) + path, {
          method,
          body,
          headers: { 'X-Ringtail-Route': 'local', ...headers },
        })
      } catch (broken) {
        // Nothing was sent, or nothing can have changed: another primary may be asked.
        if (method !== 'GET' && broken.cause?.code !== 'ECONNREFUSED') throw broken
        await this.refresh()
        continue
      }
      const data = Buffer.from(await answer.arrayBuffer())
      if (answer.headers.get('X-Ringtail-Node') !== uuid)
        throw new Error(`${this.base(uuid)} is not the node it should be`)
      const misdirected = answer.status === 421
      if (misdirected) this.properties.clear()
      if (misdirected || answer.headers.get('X-Ringtail-Topology') !== this.token)
        await this.refresh()
      if (!misdirected && answer.status !== 503)
        return { answer, data, node: this.members.get(uuid)?.name }
    }
    throw new Error('no primary served the request')
  }
}

function check(file) {
  const vectors = JSON.parse(readFileSync(file, 'utf8'))
  for (const vector of vectors) {
    const [type, bucket, key] = [vector.type, vector.bucket, vector.key].map((hex) =>
      Buffer.from(hex, 'hex')
    )
    const hash = keyHash(type, bucket, key, vector.keyfun)
    const places = positions(hash, vector.ring_size, vector.n_val)
    if (String(hash) !== vector.hash || String(places) !== String(vector.positions))
      throw new Error(JSON.stringify(vector))
  }
  console.log(`${vectors.length} vectors agree`)
}

async function main(seed) {
  const cluster = await Cluster.connect(seed)
  console.log(
    `${cluster.members.size} nodes, ${cluster.ringSize} partitions, token ${cluster.token}`
  )
  const [type, bucket] = [Buffer.from('default'), Buffer.from('examples')]
  const served = new Map()
  for (let number = 0; number < 100; number++) {
    const key = Buffer.from(`javascript/${number} +é`)
    const put = await cluster.request('PUT', type, bucket, key, `object ${number}`, {
      'Content-Type': 'text/plain',
    })
    if (put.answer.status !== 204) throw new Error(`PUT answers ${put.answer.status}`)
    const got = await cluster.request('GET', type, bucket, key)
    if (got.answer.status !== 200 || String(got.data) !== `object ${number}`)
      throw new Error(`GET answers ${got.answer.status}`)
    served.set(got.node, (served.get(got.node) ?? 0) + 1)
    await cluster.request('DELETE', type, bucket, key)
  }
  for (const [node, count] of [...served].sort())
    console.log(`${String(count).padStart(4)} objects read from ${node}, a primary`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [first, second] = process.argv.slice(2)
  if (first === '--check' && second) check(second)
  else if (first?.startsWith('http://')) await main(first)
  else {
    console.error('usage: primaries.mjs http://HOST:PORT | --check VECTORS')
    process.exit(2)
  }
}
