// The page of something that is being done: loaded again until it is.
setTimeout(() => location.reload(), 3000);
