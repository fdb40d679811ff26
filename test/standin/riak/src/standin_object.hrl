%% Context of the object resource.
-record(ctx, {api_version, bucket_type, bucket, key, client, prefix, riak,
              doc, vtag, links = [], index_fields = [], method, security,
              options = []}).
