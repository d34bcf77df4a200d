module example.com/linnet-client

go 1.22
